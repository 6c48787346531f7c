package inproc

import (
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/lock"
)

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		name    string
		visits  []visit
		longest int64
		met     int
	}{
		{"none", nil, 0, 0},
		{"alone", []visit{{EnterNS: 10, ExitNS: 20}}, 0, 0},
		{"one after the other", []visit{{EnterNS: 10, ExitNS: 20}, {Who: 1, EnterNS: 20, ExitNS: 30}}, 0, 0},
		{"beside", []visit{{EnterNS: 10, ExitNS: 20}, {Who: 1, EnterNS: 15, ExitNS: 30}}, 5, 1},
		{"inside of", []visit{{EnterNS: 10, ExitNS: 50}, {Who: 1, EnterNS: 15, ExitNS: 30}}, 15, 1},
		{"at once", []visit{{EnterNS: 10, ExitNS: 50}, {Who: 1, EnterNS: 10, ExitNS: 30}}, 20, 1},
		{"beside one that stands", []visit{{EnterNS: 10}, {Who: 1, EnterNS: 15, ExitNS: 30}}, 15, 1},
		{"both stand", []visit{{EnterNS: 10}, {Who: 1, EnterNS: 15}}, 85, 1},
		{"after the end", []visit{{EnterNS: 10, ExitNS: 120}, {Who: 1, EnterNS: 110}}, 0, 0},
		{"by the word alone", []visit{{EnterNS: 10, ExitNS: 20}, {Who: 1, EnterNS: 20, ExitNS: 30, Met: 1}}, 0, 1},
		{"three", []visit{{EnterNS: 10, ExitNS: 40}, {Who: 1, EnterNS: 15, ExitNS: 30}, {Who: 2, EnterNS: 20, ExitNS: 50}}, 20, 2},
	} {
		if longest, met := overlap(c.visits, 100); longest != c.longest || met != c.met {
			t.Errorf("%s: %+v: got %d ns, %d met, want %d ns, %d met", c.name, c.visits, longest, met, c.longest, c.met)
		}
	}
}

func TestSection(t *testing.T) {
	var s section
	a := s.enter(0, roleHolder)
	b := s.enter(2, rolePlain)
	b.leave()
	a.leave()
	c := s.enter(1, rolePlain)
	var met []int
	for _, v := range s.visits() {
		met = append(met, v.Met)
	}
	if !slices.Equal(met, []int{0, 1, 0}) {
		t.Errorf("who met whom: got %v, want [0 1 0]", met)
	}
	if v := s.visits()[2]; v.ExitNS != 0 || v.Who != 1 || v.Role != rolePlain || s.owner.Load() != 2 {
		t.Errorf("the one inside is %+v, the owner word %d", v, s.owner.Load())
	}
	c.leave()
	if got := s.owner.Load(); got != 0 {
		t.Errorf("the owner word at rest is %d, want 0", got)
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		line, state string
		id          int64
		ok          bool
	}{
		{"goroutine 7 [running]:", "running", 7, true},
		{"goroutine 12 [sleep, 2 minutes, locked to thread]:\nmain.f()", "sleep", 12, true},
		{"goroutine 5 gp=0xc000 m=3 mp=0xc1 [sync.Mutex.Lock]:", "sync.Mutex.Lock", 5, true},
		{"goroutine x [running]:", "", 0, false},
		{"goroutine 7", "", 0, false},
		{"created by main.f in goroutine 7", "", 0, false},
		{"", "", 0, false},
	} {
		id, state, ok := header(c.line)
		if id != c.id || state != c.state || ok != c.ok {
			t.Errorf("%q: got %d, %q, %v, want %d, %q, %v", c.line, id, state, ok, c.id, c.state, c.ok)
		}
	}
}

// TestDump finds a goroutine of this process, where it waits, and that it has gone.
func TestDump(t *testing.T) {
	ids, let := make(chan int64), make(chan struct{})
	go func() {
		ids <- self()
		<-let
	}()
	id := <-ids
	for {
		state, stack, ok := inDump(dumps(), id)
		if !ok || !within(stack, "TestDump.func1") {
			t.Fatalf("goroutine %d is not in the dump:\n%s", id, dumps())
		}
		if state == "chan receive" {
			break
		}
		runtime.Gosched()
	}
	close(let)
	for {
		if _, _, ok := inDump(dumps(), id); !ok {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for _, c := range []struct {
		stack, method string
		want          bool
	}{
		{"goroutine 1 [select]:\na/b.(*h).Lock(0xc0)\n\t/a/b.go:1\n", "Lock", true},
		{"goroutine 1 [select]:\na/b.(*h).LockFor(...)\n\t/a/b.go:1\n", "Lock", false},
		{"goroutine 1 [select]:\na/b.f()\n\t/a.Lock(/b.go:1\n", "Lock", false},
		{"goroutine 1 [select]:\na/b.f()\n\t/b.go:1\ncreated by a.Lock(x) in goroutine 1\n", "Lock", false},
	} {
		if got := within(c.stack, c.method); got != c.want {
			t.Errorf("%s in %q: got %v, want %v", c.method, c.stack, got, c.want)
		}
	}
}

func TestCast(t *testing.T) {
	for _, c := range []struct {
		caps lock.Caps
		max  int
		want []string
		last bool
	}{
		{lock.Caps{}, 0, []string{rolePlain, rolePlain}, true},
		{lock.Caps{Timed: true}, 0, []string{rolePlain, roleTimed}, true},
		{lock.Caps{Timed: true, Context: true, Try: true}, 0, []string{rolePlain, roleTimed, roleContext}, true},
		{lock.Caps{}, 2, []string{rolePlain}, false},
		{lock.Caps{}, 3, []string{rolePlain, rolePlain}, false},
		{lock.Caps{}, 4, []string{rolePlain, rolePlain}, true},
		{lock.Caps{Timed: true, Context: true}, 3, []string{rolePlain, roleTimed}, false},
	} {
		if got, last := cast(c.caps, c.max); !slices.Equal(got, c.want) || last != c.last {
			t.Errorf("%+v, at most %d workers: got %v, %v, want %v, %v", c.caps, c.max, got, last, c.want, c.last)
		}
	}
}

func TestTiming(t *testing.T) {
	if got := timing(nil); got != nil {
		t.Errorf("of nothing: got %+v, want nil", got)
	}
	if got := timing([]float64{3, 1}); got.Count != 2 || got.P50 != 2 || got.Max != 3 || got.P99 != nil {
		t.Errorf("of 3 and 1: got %+v", got)
	}
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	if got := timing(hundred); got.P50 != 50.5 || got.P99 == nil || *got.P99 != 99 || got.Max != 100 {
		t.Errorf("of 1 to 100: got %+v", got)
	}
}

// TestReason: what is printed of rounds that were seen.
func TestReason(t *testing.T) {
	const msec = 1_000_000
	forever := round{FaultNS: 10 * msec, EndNS: 510 * msec, Felt: "gone", Stuck: true, Tries: []try{{9 * msec, false}, {511 * msec, false}}, Waits: []wait{
		{Role: rolePlain, CallNS: 5 * msec, EndNS: 510 * msec, Outcome: waits},
		{Role: roleTimed, CallNS: 6 * msec, EndNS: 106*msec + 500_000, LimitNS: 100 * msec, Outcome: left},
	}}
	recovers := round{FaultNS: 10 * msec, EndNS: 320 * msec, BackNS: 310 * msec, Felt: "asleep", Last: granted,
		Waits:  []wait{{Role: rolePlain, CallNS: 5 * msec, EndNS: 310 * msec, Outcome: granted}},
		Visits: []visit{{0, roleHolder, 4 * msec, 310 * msec, 0}, {1, rolePlain, 310 * msec, 311 * msec, 0}}}
	hangs := recovers
	hangs.Stuck, hangs.Visits = true, hangs.Visits[:1]
	for _, c := range []struct {
		name, fault string
		rounds      []round
		want        string
	}{
		{"for ever", GoroutineExit, []round{forever, forever}, "waiters wait for ever: 1 of 2 after 500 ms; the timed one left after 100 ms (at most 0.5 ms late); TryLock is refused"},
		{"after a stall", StalledHolder, []round{recovers}, "the next got in after 300 ms; one waiter only: the lock takes at most 2 workers"},
		{"hangs", StalledHolder, []round{hangs}, "the lock was given back, yet somebody was not let in for 10s in 1 of 1 round"},
		{"not felt", GoroutineExit, []round{{FaultNS: 1, EndNS: 2}}, "the fault was not felt, or nobody waited, in 1 of 1 round"},
	} {
		s := session{o: Options{Lock: lock.Info{MaxWorkers: 2}, Rounds: len(c.rounds)}, setup: setup{Fault: c.fault, PatienceNS: int64(10 * time.Second)}, rounds: c.rounds}
		v := verdictOf(&s)
		if v.Reason != c.want {
			t.Errorf("%s: got  %q\nwant %q", c.name, v.Reason, c.want)
		}
	}
}

// TestRoundTrip: what a child sends is what its parent reads.
func TestRoundTrip(t *testing.T) {
	want := report{Rep: repRound, Round: &round{N: 3, FaultNS: 5, EndNS: 9, BackNS: 7, Queued: "q", Felt: "f", Last: granted,
		Waits: []wait{{rolePlain, 1, 8, 2, granted}}, Tries: []try{{4, true}}, Visits: []visit{{1, rolePlain, 8, 9, 1}}, Stuck: true, Err: "e", Dump: "d"}}
	var b strings.Builder
	if err := send(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := decode[report]([]byte(b.String()))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

var goodSetup = setup{Lock: "mutex", Fault: StalledHolder, Rounds: 2, Seed: 1, Procs: 2, StallNS: 3, WindowNS: 4, LimitNS: 5, PatienceNS: 6}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"rep":"ready"} {}`, "more than one value"},
		{`{"rep":"song"}`, `unknown report "song"`},
		{`{"rep":"round"}`, "without one"},
		{`{"rep":"ready","x":1}`, "unknown field"},
		{`{"rep":"round","round":{"n":-1}}`, "round -1"},
		{`{"rep":"round","round":{"n":0,"waits":[{"outcome":"went"}]}}`, "unknown outcome"},
		{`{"rep":"round","round":{"n":0,"waits":[{"outcome":"left","call_ns":2,"end_ns":1}]}}`, "before it called"},
		{`{"rep":"round","round":{"n":0,"visits":[{"enter_ns":2,"exit_ns":1}]}}`, "a visit from 2 to 1"},
		{``, "EOF"},
	} {
		if _, err := decode[report]([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.line, err, c.want)
		}
	}
	for _, c := range []struct {
		change func(*setup)
		want   string
	}{
		{func(s *setup) { s.Lock = "" }, "no lock"},
		{func(s *setup) { s.Fault = "holder-kill" }, "unknown fault"},
		{func(s *setup) { s.Rounds = 0 }, "rounds is 0"},
		{func(s *setup) { s.Procs = 0 }, "procs is 0"},
		{func(s *setup) { s.WindowNS = int64(time.Hour) }, "window_ns is"},
		{func(s *setup) { s.PatienceNS = -1 }, "patience_ns is -1"},
	} {
		s := goodSetup
		c.change(&s)
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode[setup](b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", b, err, c.want)
		}
	}
	b, err := json.Marshal(goodSetup)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode[setup](b); err != nil || got != goodSetup {
		t.Errorf("%s: got %+v, %v", b, got, err)
	}
}

// FuzzDecode: no line makes the judge fail, and what is taken is encoded to what is taken again.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"rep":"ready"}`, `{"rep":"failed","text":"x"}`, `{"rep":"round","round":{"n":1,"fault_ns":3,"end_ns":9,"felt":"x","waits":[{"role":"plain","call_ns":1,"end_ns":2,"outcome":"left"}],"visits":[{"who":1,"role":"plain","enter_ns":4,"exit_ns":5,"met":1}]}}`,
		`{"rep":"round","round":{"n":0,"tries":[{"at_ns":-1,"got":true}],"waits":null,"visits":null}}`,
		`{"lock":"tas","fault":"goroutine-exit","first":0,"rounds":1,"seed":1,"procs":2,"window_ns":6,"limit_ns":1,"patience_ns":1}`, `{"rep":`, `null`, `[]`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, err := decode[setup](line); err == nil {
			if s.check() != nil || s.Rounds < 1 {
				t.Errorf("took %+v", s)
			}
		}
		r, err := decode[report](line)
		if err != nil {
			return
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decode[report](b); err != nil || again.Rep != r.Rep {
			t.Errorf("%s: taken, but not its encoding %s: %v", line, b, err)
		}
		if r.Round == nil {
			return
		}
		for _, fault := range Faults() {
			s := session{o: Options{Rounds: 1, Fault: fault}, setup: setup{Fault: fault}}
			s.take(*r.Round)
			if v := verdictOf(&s); v.Verdict == "" || v.Rounds != 1 {
				t.Errorf("%s: the verdict is %+v", line, v)
			}
		}
	})
}
