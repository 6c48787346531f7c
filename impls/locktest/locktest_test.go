package locktest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/impls/broken"
	"lockbench/impls/locktest"
	"lockbench/impls/std"
	"lockbench/lock"
)

// expected are the options for locks that must fail: a short guard, as the
// locks that hang here hang for sure, and a quiet race detector.
var expected = locktest.Options{Guard: 500 * time.Millisecond, Atomic: true}

// TestBrokenLocksFail asks for the check by name: a broken lock that fails
// the wrong check shows a bug of the suite.
func TestBrokenLocksFail(t *testing.T) {
	want := map[string]struct {
		check string
		hang  bool
	}{
		"broken-noop":        {check: "exclusion"},
		"broken-lost-wakeup": {check: "progress", hang: true},
		"broken-two":         {check: "exclusion"},
	}
	infos := broken.Infos()
	if len(infos) != len(want) {
		t.Errorf("%d broken locks, %d expectations", len(infos), len(want))
	}
	for _, info := range infos {
		t.Run(info.Name, func(t *testing.T) {
			failures := locktest.Check(info, expected)
			if len(failures) == 0 {
				t.Fatal("passed every check")
			}
			f, w := failures[0], want[info.Name]
			if f.Check != w.check || errors.Is(f, locktest.ErrHang) != w.hang {
				t.Errorf("failed first: %v\nwant check %q, hang %v", f, w.check, w.hang)
			}
			t.Logf("caught by %s after %v, seed %d", f.Check, f.After, f.Seed)
		})
	}
}

// TestMutexPasses: the suite does not cry wolf, through either entrance.
func TestMutexPasses(t *testing.T) {
	for _, info := range std.Infos() {
		if info.Name != "mutex" {
			continue
		}
		for _, f := range locktest.Check(info, locktest.Options{}) {
			t.Error(f)
		}
		locktest.Run(t, info, locktest.WithSeed(2), locktest.WithScale(0.5), locktest.WithGuard(time.Minute))
	}
}

// TestUnavailableAndDistributed: what cannot run here is skipped, not failed.
func TestUnavailableAndDistributed(t *testing.T) {
	elsewhere := lock.Info{Name: "elsewhere", Family: "test", Doc: "d", Source: "s", Unavailable: "needs another system"}
	remote := lock.Info{
		Name: "remote", Family: "test", Doc: "d", Source: "s", Kind: lock.KindLease,
		Dial:   func(context.Context, lock.Target) (lock.Client, error) { return nil, errors.New("not dialled") },
		Remote: &lock.Remote{Services: []string{"redis"}},
	}
	locktest.Run(t, elsewhere)
	for _, info := range []lock.Info{elsewhere, remote} {
		for _, f := range locktest.Check(info, locktest.Options{}) {
			t.Error(f)
		}
	}
}

// TestFailureText: whoever reads a failure can repeat it.
func TestFailureText(t *testing.T) {
	f := locktest.Failure{Lock: "mcs", Check: "fifo", Seed: 7, Err: errors.New("out of order")}
	for _, part := range []string{"mcs", "fifo", "seed 7", "out of order"} {
		if !strings.Contains(f.Error(), part) {
			t.Errorf("Error() = %q, want it to contain %q", f.Error(), part)
		}
	}
}
