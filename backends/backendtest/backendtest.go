// Package backendtest gives tests real servers. A topology's servers are started when a
// test first asks for them, and shared by all tests of the binary; Main removes them.
//
// Without Docker or without the image a test is skipped, with the reason, unless
// LOCKBENCH_REQUIRE_DOCKER=1 says that a skip is a failure.
package backendtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/internal/watchdog"
	"lockbench/lock"
)

// RequireEnv is the variable that forbids skipping.
const RequireEnv = "LOCKBENCH_REQUIRE_DOCKER"

// OwnerLabel is the label of what tests start; its value is the test binary's process id.
const OwnerLabel = "lockbench.test"

// What targets are filled with; a test changes what it needs otherwise.
const (
	TTL         = 2 * time.Second // the least that etcd grants
	Workers     = 8
	DialTimeout = 10 * time.Second
)

// openTimeout is for machines that run many tests at once.
const openTimeout = 3 * time.Minute

// opened is a topology's servers, or why there are none.
type opened struct {
	once    sync.Once
	cluster *backends.Cluster
	err     error
}

var shared struct {
	sync.Mutex
	byName map[string]*opened
	main   bool // Main runs: somebody closes
}

// Main runs the tests and removes the servers; the caller's TestMain exits with its
// result: os.Exit(backendtest.Main(m)).
func Main(m *testing.M) int {
	shared.Lock()
	shared.main = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	for name, o := range shared.byName {
		if o.cluster == nil {
			continue
		}
		if err := o.cluster.Close(context.Background()); err != nil {
			fmt.Fprintf(os.Stderr, "close %s: %v\n", name, err)
			code = max(code, 1)
		}
	}
	shared.byName = nil
	return code
}

// Shared returns the binary's cluster of a topology. Tests that disturb its servers use Fresh.
func Shared(t testing.TB, topology string) *backends.Cluster {
	t.Helper()
	shared.Lock()
	if !shared.main {
		shared.Unlock()
		t.Fatal("backendtest: TestMain must call backendtest.Main, which removes the servers")
	}
	if shared.byName == nil {
		shared.byName = map[string]*opened{}
	}
	o := shared.byName[topology]
	if o == nil {
		o = &opened{}
		shared.byName[topology] = o
	}
	shared.Unlock()
	o.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		o.cluster, o.err = backends.Open(ctx, topology, Options(nil))
	})
	if o.err != nil {
		Missing(t, topology, o.err)
	}
	return o.cluster
}

// Target returns what a client of the binary's shared cluster needs, with names of the
// test's own, which are removed when it ends.
func Target(t testing.TB, topology string) lock.Target {
	t.Helper()
	c := Shared(t, topology)
	target, run := Fill(c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		if err := c.Clean(ctx, run); err != nil {
			t.Errorf("clean %s: %v", run, err)
		}
	})
	return target
}

// Fill returns a cluster's target with a prefix nobody else has, and what to clean of it.
func Fill(c *backends.Cluster) (target lock.Target, clean string) {
	target = c.Target()
	clean = "lockbench/test-" + id() + "/"
	target.Prefix = clean + "t/"
	target.TTL, target.Workers, target.DialTimeout = TTL, Workers, DialTimeout
	return target, clean
}

// Fresh returns a cluster of the test's own, which is removed when it ends. Its options can be
// changed on the way.
func Fresh(t testing.TB, topology string, change ...func(*backends.Options)) *backends.Cluster {
	t.Helper()
	o := Options(t.Log)
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	c, err := backends.Open(ctx, topology, o)
	if err != nil {
		Missing(t, topology, err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close %s: %v", topology, err)
		}
	})
	return c
}

// Options are those of a test's clusters; log may be nil.
func Options(log func(...any)) backends.Options {
	o := backends.Options{RunID: "test", Owner: map[string]string{OwnerLabel: fmt.Sprint(os.Getpid())}}
	if me, err := watchdog.Self(); err == nil { // else: nothing to know this process by
		maps.Copy(o.Owner, me.Labels())
	}
	if log != nil {
		o.Log = func(line string) { log(line) }
	}
	sweep()
	return o
}

// sweep removes what test binaries have left that were killed: they have no watchdog. Those
// that run are not touched. An error shows again with the first container.
var sweep = sync.OnceFunc(func() {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	_, _ = watchdog.Sweep(ctx, "")
})

const sweepTimeout = 10 * time.Second

// Missing ends a test whose servers could not be started: skipped if the reason is
// that Docker or an image is not here, and skipping is allowed; failed otherwise.
func Missing(t testing.TB, topology string, err error) {
	t.Helper()
	if os.Getenv(RequireEnv) != "1" && backends.IsMissing(err) {
		t.Skipf("no servers for %s: %s", topology, strings.TrimSpace(err.Error()))
	}
	t.Fatalf("no servers for %s: %v", topology, err)
}

func id() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // it never fails: crypto/rand
	return hex.EncodeToString(b)
}
