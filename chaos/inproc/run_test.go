package inproc

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/lock"
	"lockbench/results"
)

const stallMS = 250

var short = map[string]map[string]float64{
	GoroutineExit:  {ParamWindow: 60},
	PanicInSection: {ParamWindow: 60},
	// On a machine that is busy with spinning waiters, to see that the holder sleeps takes some tens of ms.
	StalledHolder: {ParamStall: stallMS, ParamWindow: 60},
}

// TestCatalogue plays all faults on all locks: no right lock lets two in, and the faults that give the lock
// back are those from which all recover.
func TestCatalogue(t *testing.T) {
	few := []string{"mutex", "mcs", "ticket-park", "chan", "mcs-abort", "futex-pi", "dekker"}
	for _, i := range impls.Catalog() {
		if i.Kind != lock.KindLock || testing.Short() && !slices.Contains(few, i.Name) {
			continue
		}
		for _, c := range []struct {
			fault    string
			deferred float64
			back     bool // the lock is given back
		}{{GoroutineExit, 0, false}, {PanicInSection, 0, false}, {PanicInSection, 1, true}, {StalledHolder, 0, true}} {
			name := i.Name + "/" + c.fault
			p := map[string]float64{}
			for k, v := range short[c.fault] {
				p[k] = v
			}
			if c.deferred == 1 {
				name, p[ParamDeferred] = name+"/deferred", 1
			}
			t.Run(name, func(t *testing.T) {
				v, events := tryOut(t, i, c.fault, 1, p)
				t.Log(v.Reason)
				want := results.VerdictSafe
				switch {
				case i.Control:
					want = results.VerdictUnsafe
				case i.Unavailable != "":
					want = results.VerdictSkipped
				}
				if v.Verdict != want {
					t.Fatalf("got %s, want %s\n%s", v.Verdict, want, dumped(v, events))
				}
				if i.Control || i.Unavailable != "" {
					return
				}
				// The kernel gives the lock of a thread that has ended to the next one.
				back := c.back || i.ThreadBound && c.fault == GoroutineExit
				if got := v.Recovery != nil; got != back {
					t.Errorf("recovers: got %v, want %v\n%s", got, back, dumped(v, events))
				}
				if forever := strings.Contains(v.Reason, "wait for ever"); forever == back {
					t.Errorf("waits for ever: got %v, want %v\n%s", forever, !back, dumped(v, events))
				}
				if c.fault == StalledHolder && v.Recovery != nil && v.Recovery.P50 < stallMS {
					t.Errorf("somebody got in after %v ms of a stall of %d\n%s", v.Recovery.P50, stallMS, dumped(v, events))
				}
				caps, err := i.Probe()
				if err != nil {
					t.Fatal(err)
				}
				// Who can leave does. If the lock is given back, who is late may get in instead.
				for says, has := range map[string]bool{"the timed one left": caps.Timed, "the one with a context left": caps.Context, "TryLock is refused": caps.Try} {
					if got := strings.Contains(v.Reason, says); got != has && (!back || says == "TryLock is refused") {
						t.Errorf("%q in the reason: got %v, want %v\n%s", says, got, has, dumped(v, events))
					}
				}
				if v.Type != "verdict" || v.Lock != i.Name || v.Kind != "lock" || v.On != "process" || v.Policy != "plain" || v.Topology != "in-process" || v.Params[ParamWindow] != 60 {
					t.Errorf("the record's identity is wrong: %+v", v)
				}
				if v.AtMost == nil || math.Abs(*v.AtMost-100*(1-math.Pow(0.05, 1/float64(v.Probative)))) > 1e-9 {
					t.Errorf("bad at most %v of %d rounds", v.AtMost, v.Probative)
				}
			})
		}
	}
}

// TestPlanted: what is broken is found, by the fault that brings it to light.
func TestPlanted(t *testing.T) {
	for _, c := range []struct {
		lock, fault, want, says, event string
	}{
		{"broken-noop", GoroutineExit, results.VerdictUnsafe, "two were inside", "violation"},
		{"broken-noop", PanicInSection, results.VerdictUnsafe, "two were inside", "violation"},
		{"broken-noop", StalledHolder, results.VerdictUnsafe, "two were inside", "violation"},
		{"broken-two", GoroutineExit, results.VerdictUnsafe, "two were inside", "violation"},
		{"broken-two", StalledHolder, results.VerdictUnsafe, "two were inside", "violation"},
		{"mutant-right", StalledHolder, results.VerdictSafe, "the timed one left", "fault"},
		{"mutant-breaks-in", StalledHolder, results.VerdictUnsafe, "two were inside", "violation"},
		{"mutant-try", GoroutineExit, results.VerdictUnsafe, "two were inside", "violation"},
		{"mutant-keeps", StalledHolder, results.VerdictUnknown, "somebody was not let in", "hang"},
		{"mutant-stays", PanicInSection, results.VerdictUnknown, "had not left", "hang"},
		{"mutant-forgets", StalledHolder, results.VerdictUnknown, "somebody was not let in", "hang"},
		{"mutant-dies", StalledHolder, results.VerdictUnknown, "the child ended in the middle of a round", "crash"},
		{"mutant-never", GoroutineExit, results.VerdictUnknown, "the first Lock of a fresh lock did not return", "hang"},
	} {
		t.Run(c.lock+"/"+c.fault, func(t *testing.T) {
			patience := time.Duration(0)
			if c.want == results.VerdictUnknown {
				patience = 700 * time.Millisecond // they hang, and are to
			}
			v, events := tryOutFor(t, named(t, c.lock), c.fault, 2, short[c.fault], patience)
			if v.Verdict != c.want || !strings.Contains(v.Reason, c.says) {
				t.Errorf("got %s, want %s with %q\n%s", v.Verdict, c.want, c.says, dumped(v, events))
			}
			i := slices.IndexFunc(events, func(e results.Event) bool { return e.Kind == c.event })
			if i < 0 {
				t.Fatalf("no event %q\n%s", c.event, dumped(v, events))
			}
			if e := events[i]; e.Type != "event" || e.AtNS == 0 || e.Cell == "" || e.Text == "" {
				t.Errorf("event %+v: want type, stamp, cell and text", e)
			}
			if c.event == "hang" && !strings.Contains(events[i].Dump, "mutantHandle") {
				t.Errorf("the hang's dump does not show the lock:\n%s", events[i].Dump)
			}
			if c.lock == "mutant-dies" && !strings.Contains(events[i].Dump, "planted: Unlock with waiters") {
				t.Errorf("the crash's dump is %q", events[i].Dump)
			}
			if c.want == results.VerdictUnsafe && (v.Bad == 0 || v.OverlapMaxMS <= 0 || v.DoubleGrants == 0 || !strings.Contains(v.Counterexample, "is inside") || v.AtMost != nil) {
				t.Errorf("want what was bad in figures\n%+v\n%s", v, dumped(v, events))
			}
		})
	}
}

// TestCancelled: a context that ends in the middle of a stuck round leaves nothing.
func TestCancelled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var kids pids
	o := Options{
		Argv: []string{exe, verb}, Lock: named(t, "ticket"), Fault: GoroutineExit, Params: map[string]float64{ParamWindow: 60_000}, Rounds: 1, Seed: 1,
		Hold: func(pid int) (func(), error) {
			time.AfterFunc(100*time.Millisecond, cancel)
			return kids.hold(pid)
		},
	}
	if _, _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if len(kids.held) != 1 {
		t.Errorf("%d children, want 1", len(kids.held))
	}
	kids.gone(t)
}

// TestParentGone: a child whose input ends is gone, though its waiters spin.
func TestParentGone(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, verb)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if _, err := stdin.Write([]byte(`{"lock":"tas","fault":"goroutine-exit","first":0,"rounds":1,"seed":1,"procs":2,"window_ns":60000000000,"limit_ns":1000000,"patience_ns":10000000000}` + "\n")); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := stdout.Read(line)
	if err != nil || string(line[:n]) != `{"rep":"ready"}`+"\n" {
		t.Fatalf("the child says %q, %v", line[:n], err)
	}
	time.Sleep(50 * time.Millisecond) // most likely its waiters spin by now; it is to end at any time
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("exit code %d (%v), want 1", code, err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the child did not end with its input")
	}
}

func TestOptions(t *testing.T) {
	mutex := named(t, "mutex")
	exe := []string{"/nonexistent/program"}
	for _, c := range []struct {
		name, want string
		o          Options
	}{
		{"fault", `unknown fault of in-process locks "goroutine-exi"`, Options{Argv: exe, Lock: mutex, Fault: "goroutine-exi", Rounds: 1}},
		{"rounds", "0 rounds", Options{Argv: exe, Lock: mutex, Fault: GoroutineExit}},
		{"no program", "no program", Options{Lock: mutex, Fault: GoroutineExit, Rounds: 1}},
		{"program", "start /nonexistent/program", Options{Argv: exe, Lock: mutex, Fault: GoroutineExit, Rounds: 1}},
		{"parameter", `no parameter "stall_ms"`, Options{Argv: exe, Lock: mutex, Fault: GoroutineExit, Rounds: 1, Params: map[string]float64{ParamStall: 60}}},
		{"range", "want 50 to 60000", Options{Argv: exe, Lock: mutex, Fault: StalledHolder, Rounds: 1, Params: map[string]float64{ParamStall: 1}}},
		{"not a number", "want 50 to 60000", Options{Argv: exe, Lock: mutex, Fault: StalledHolder, Rounds: 1, Params: map[string]float64{ParamStall: math.NaN()}}},
		{"half", "want 0 or 1", Options{Argv: exe, Lock: mutex, Fault: PanicInSection, Rounds: 1, Params: map[string]float64{ParamDeferred: 0.5}}},
	} {
		if _, _, err := Run(context.Background(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestSkipped: nothing is started for a lock that cannot be had.
func TestSkipped(t *testing.T) {
	for _, c := range []struct {
		i    lock.Info
		want string
	}{
		{lock.Info{Name: "elsewhere", Unavailable: "no futexes here"}, "no futexes here"},
		{named(t, "redis"), "not an in-process lock"},
		{lock.Info{Name: "alone", MaxWorkers: 1, New: named(t, "mutex").New}, "the lock takes one worker: nobody can wait"},
	} {
		v, events, err := Run(context.Background(), Options{Argv: []string{"/nonexistent/program"}, Lock: c.i, Fault: StalledHolder, Rounds: 1})
		if err != nil || len(events) != 0 || v.Verdict != results.VerdictSkipped || v.Reason != c.want {
			t.Errorf("%s: got %s, %q, %v, want it skipped with %q", c.i.Name, v.Verdict, v.Reason, err, c.want)
		}
	}
}
