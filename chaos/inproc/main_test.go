package inproc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/lock"
	"lockbench/results"
)

const verb = "chaos-lock"

// TestMain makes the test binary the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == verb {
		os.Exit(Main(lookup, os.Stdin, os.Stdout, os.Exit))
	}
	os.Exit(m.Run())
}

func lookup(name string) (lock.Info, error) {
	for _, i := range all() {
		if i.Name == name {
			return i, nil
		}
	}
	return lock.Info{}, fmt.Errorf("no lock %q", name)
}

func all() []lock.Info {
	return impls.Merge(impls.Catalog(), impls.Broken(), mutants())
}

func named(t *testing.T, name string) lock.Info {
	t.Helper()
	i, err := lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// pids notes the children of a test, and looks after them.
type pids struct {
	mu        sync.Mutex
	held      []int
	forgotten int
}

func (p *pids) hold(pid int) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, pid)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forgotten++
	}, nil
}

// gone fails the test if a child is there that must not be.
func (p *pids) gone(t *testing.T) {
	t.Helper()
	if len(p.held) != p.forgotten {
		t.Errorf("%d children were held and %d forgotten", len(p.held), p.forgotten)
	}
	for _, pid := range p.held {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("child %d is still there: %v", pid, err)
		}
	}
}

// tryOut runs a cell with short times.
func tryOut(t *testing.T, i lock.Info, fault string, rounds int, p map[string]float64) (results.ChaosVerdict, []results.Event) {
	t.Helper()
	return tryOutFor(t, i, fault, rounds, p, 0)
}

func tryOutFor(t *testing.T, i lock.Info, fault string, rounds int, p map[string]float64, patience time.Duration) (results.ChaosVerdict, []results.Event) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var kids pids
	v, events, err := Run(context.Background(), Options{
		Argv: []string{exe, verb}, Hold: kids.hold, Lock: i, Fault: fault, Params: p, Rounds: rounds, Seed: 1, Patience: patience,
	})
	if err != nil {
		t.Fatalf("%s on %s: %v", fault, i.Name, err)
	}
	kids.gone(t)
	return v, events
}

// dumped writes what a test saw.
func dumped(v results.ChaosVerdict, events []results.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict %s, rounds %d, felt %d, probative %d, bad %d, overlap %v ms, recovery %+v\nreason: %s\n",
		v.Verdict, v.Rounds, v.Felt, v.Probative, v.Bad, v.OverlapMaxMS, v.Recovery, v.Reason)
	for _, e := range events {
		fmt.Fprintf(&b, "event %s: %s\n", e.Kind, e.Text)
	}
	return b.String()
}

// verdictOf judges the rounds of a session.
func verdictOf(s *session) results.ChaosVerdict {
	var v results.ChaosVerdict
	s.judge(&v)
	return v
}
