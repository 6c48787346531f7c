package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/clock"
)

var errPlanted = errors.New("planted")

// stepsThat notes each step that is called, and fails in the one named.
func stepsThat(fail string, called *[]string) Steps {
	step := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			*called = append(*called, name)
			if err := ctx.Err(); err != nil {
				return err
			}
			if name == fail {
				return errPlanted
			}
			return nil
		}
	}
	felt := step("felt")
	return Steps{Setup: step("setup"), Inject: step("inject"), Recover: step("recover"), Recovered: step("recovered"), Cleanup: step("cleanup"),
		Felt: func(ctx context.Context) (string, error) { return "seen", felt(ctx) }}
}

// carry takes an injection as far as it goes, as a round does, and then has it cleaned up.
func carry(ctx context.Context, j *Injection) error {
	var err error
	for _, do := range []func(context.Context) error{j.Setup, j.Inject, j.Felt, j.Recover} {
		if err = do(ctx); err != nil {
			break
		}
	}
	return errors.Join(err, j.Cleanup(ctx))
}

// TestInjection: each step that fails ends the injection there, and leads to Cleanup, once.
func TestInjection(t *testing.T) {
	for _, x := range []struct {
		fail    string
		called  string
		err     string // what the error says; empty: there is none
		notFelt bool
		stamps  [4]bool // injected, felt, recover, recovered
	}{
		{"", "setup inject felt recover recovered cleanup", "", false, [4]bool{true, true, true, true}},
		{"setup", "setup cleanup", "set up: planted", false, [4]bool{}},
		{"inject", "setup inject cleanup", "inject: planted", false, [4]bool{true}},
		{"felt", "setup inject felt cleanup", "wait until felt: the fault was not felt: planted", true, [4]bool{true}},
		{"recover", "setup inject felt recover cleanup", "recover: planted", false, [4]bool{true, true, true}},
		{"recovered", "setup inject felt recover recovered cleanup", "wait until recovered: planted", false, [4]bool{true, true, true}},
		{"cleanup", "setup inject felt recover recovered cleanup", "clean up: planted", false, [4]bool{true, true, true, true}},
	} {
		var called []string
		j := newInjection(stepsThat(x.fail, &called))
		before := clock.Shared()
		err := carry(t.Context(), j)
		after := clock.Shared()
		if got := strings.Join(called, " "); got != x.called {
			t.Errorf("%q fails: called %q, want %q", x.fail, got, x.called)
		}
		if x.err == "" && err != nil || x.err != "" && (err == nil || err.Error() != x.err || !errors.Is(err, errPlanted)) {
			t.Errorf("%q fails: got %v, want %q", x.fail, err, x.err)
		}
		if errors.Is(err, errNotFelt) != x.notFelt {
			t.Errorf("%q fails: %v: not felt: want %v", x.fail, err, x.notFelt)
		}
		last := before
		for i, at := range []int64{j.InjectedNS, j.FeltNS, j.RecoverNS, j.RecoveredNS} {
			if (at != 0) != x.stamps[i] {
				t.Errorf("%q fails: stamp %d is %d, want one: %v", x.fail, i, at, x.stamps[i])
			}
			if at != 0 && (at < last || at > after) {
				t.Errorf("%q fails: stamp %d is %d, not from %d to %d", x.fail, i, at, last, after)
			}
			last = max(last, at)
		}
		if j.State() != StateClean {
			t.Errorf("%q fails: it is %s at last, want %s", x.fail, j.State(), StateClean)
		}
		// Whatever comes after that does nothing.
		for range 2 {
			if err := j.Cleanup(t.Context()); err != nil {
				t.Errorf("%q fails: cleaned up again: %v", x.fail, err)
			}
		}
		for _, do := range []func(context.Context) error{j.Setup, j.Inject, j.Felt, j.Recover} {
			if do(t.Context()) == nil {
				t.Errorf("%q fails: a step after the end succeeded", x.fail)
			}
		}
		if got := strings.Join(called, " "); got != x.called {
			t.Errorf("%q fails: called %q after the end, want %q", x.fail, got, x.called)
		}
	}
}

// TestInjectionOrder: no step can be left out or done twice.
func TestInjectionOrder(t *testing.T) {
	type step struct {
		name string
		do   func(*Injection, context.Context) error
	}
	order := []step{{"setup", (*Injection).Setup}, {"inject", (*Injection).Inject}, {"felt", (*Injection).Felt}, {"recover", (*Injection).Recover}}
	states := []State{StateIdle, StateReady, StateInjected, StateFelt, StateRecovered}
	for done := range len(order) + 1 {
		for i, s := range order {
			var called []string
			j := newInjection(stepsThat("", &called))
			for _, before := range order[:done] {
				if err := before.do(j, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if j.State() != states[done] {
				t.Fatalf("after %d steps: %s, want %s", done, j.State(), states[done])
			}
			was := slices.Clone(called)
			err := s.do(j, t.Context())
			if (err == nil) != (i == done) {
				t.Errorf("%s after %d steps: got %v", s.name, done, err)
			}
			if i != done && !slices.Equal(called, was) {
				t.Errorf("%s after %d steps: called %q", s.name, done, called[len(was):])
			}
			if i != done && (done < 2 && j.InjectedNS != 0 || done < 4 && j.RecoverNS != 0) {
				t.Errorf("%s after %d steps: stamped as if it had been done: %+v", s.name, done, j)
			}
		}
	}
}

// TestInjectionOfAnEndedRun: Cleanup runs when the run is over, with time of its own.
func TestInjectionOfAnEndedRun(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 3, 4} {
		var called []string
		s := stepsThat("", &called)
		ctx, cancel := context.WithCancel(t.Context())
		j := newInjection(s)
		for _, do := range []func(context.Context) error{j.Setup, j.Inject, j.Felt, j.Recover}[:steps] {
			if err := do(ctx); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if err := j.Cleanup(ctx); err != nil { // the step fails if its context has ended
			t.Errorf("after %d steps: %v", steps, err)
		}
		if n := len(called); n == 0 || called[n-1] != "cleanup" {
			t.Errorf("after %d steps: called %q", steps, called)
		}
	}
	j := newInjection(Steps{Cleanup: func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("nothing bounds a Cleanup that hangs")
		}
		return nil
	}})
	if err := j.Cleanup(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestInjectionOfNothing: steps that are nil do nothing.
func TestInjectionOfNothing(t *testing.T) {
	j := newInjection(Steps{})
	if err := carry(t.Context(), j); err != nil || j.InjectedNS == 0 || j.FeltNS == 0 || j.RecoveredNS == 0 || j.Evidence != "" {
		t.Errorf("got %v, %+v", err, j)
	}
}
