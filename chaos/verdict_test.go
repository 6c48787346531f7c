package chaos

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/chaos/timeline"
	"lockbench/internal/near"
	"lockbench/lock"
	"lockbench/results"
)

// round is one that was felt and counts.
func round(change func(o *Observation)) Observation {
	o := Observation{Felt: true, Probative: true}
	if change != nil {
		change(&o)
	}
	return o
}

// rounds are n of the same kind.
func rounds(n int, change func(o *Observation)) (out []Observation) {
	for i := range n {
		o := round(change)
		o.Round = i
		out = append(out, o)
	}
	return out
}

func stale(o *Observation)  { o.StaleUnfenced = 2 }
func taken(o *Observation)  { o.StaleUnfenced, o.StaleFenced = 2, 1 }
func double(o *Observation) { o.DoubleGrants = 1 }

// TestVerdict: what rounds come to.
func TestVerdict(t *testing.T) {
	missed := func(o *Observation) { o.Felt, o.Probative, o.Why = false, false, "no evidence" }
	useless := func(o *Observation) { o.Probative, o.Why = false, "nobody got in" }
	guarded := lock.Info{Name: "tx", Kind: lock.KindGuarded, Remote: &lock.Remote{}}
	for _, x := range []struct {
		name   string
		l      lock.Info
		rounds []Observation
		want   string
		reason string // part of it
		atMost bool
	}{
		{"none ran", leaseInfo, nil, results.VerdictUnknown, "0 of 0 rounds counted, 10 are wanted; the last: none ran", false},
		{"ten good ones", leaseInfo, rounds(10, nil), results.VerdictSafe, "", true},
		{"nine good ones", leaseInfo, rounds(9, nil), results.VerdictUnknown, "9 of 9 rounds counted, 10 are wanted", false},
		{"ten, of which one was not felt", leaseInfo, append(rounds(9, nil), round(missed)), results.VerdictUnknown, "9 of 10 rounds counted, 10 are wanted; the last: no evidence", false},
		{"ten, of which one proves nothing", leaseInfo, append(rounds(9, nil), round(useless)), results.VerdictUnknown, "nobody got in", false},
		{"ten good ones, and one that was not felt", leaseInfo, append(rounds(10, nil), round(missed)), results.VerdictSafe, "", true},
		{"a double grant", leaseInfo, append(rounds(10, nil), round(double)), results.VerdictUnsafe, "1 of 11 rounds: granted to a second while the first one's lease was valid", false},
		{"a double grant, and a write that the fence refused", leaseInfo, rounds(3, func(o *Observation) { double(o); stale(o) }), results.VerdictFence, "and both wrote", false},
		{"a double grant here, a refused write there", leaseInfo, append(rounds(1, double), round(stale)), results.VerdictFence, "2 of 2 rounds: the old holder wrote", false},
		{"late writes, refused", leaseInfo, rounds(10, stale), results.VerdictFence, "10 of 10 rounds: the old holder wrote after its successor had begun", false},
		{"late writes, one taken", leaseInfo, append(rounds(9, stale), round(taken)), results.VerdictUnsafe, "", false},
		{"the rightful holder refused", leaseInfo, rounds(1, func(o *Observation) { stale(o); o.CurrentRejected = 1 }), results.VerdictUnsafe, "the fenced store refused the rightful holder", false},
		{"late writes without a token", bareInfo, rounds(1, stale), results.VerdictUnsafe, "the old holder wrote", false},
		{"one bad round is enough, though it does not count", leaseInfo, append(rounds(9, nil), round(func(o *Observation) { useless(o); taken(o) })), results.VerdictUnsafe, "the fenced store took it, too", false},
		{"what was seen in a round that was not felt does not count", leaseInfo, append(rounds(10, nil), round(func(o *Observation) { missed(o); taken(o) })), results.VerdictSafe, "", true},
		{"a stale holder that wrote nothing", leaseInfo, rounds(10, func(o *Observation) { o.StaleHolders = 1 }), results.VerdictSafe, "", true},
		{"not linearizable", leaseInfo, rounds(10, func(o *Observation) { o.Linear, o.LinearWhy = "no", "lock: it has no place" }), results.VerdictUnsafe, "not linearizable: lock: it has no place", false},
		{"nobody knows whether linearizable", leaseInfo, rounds(10, func(o *Observation) { o.Linear = "unknown" }), results.VerdictSafe, "", true},
		{"lost updates", guarded, rounds(1, func(o *Observation) { o.LostUpdates = 3 }), results.VerdictUnsafe, "3 acknowledged updates are lost", false},
		{"updates too many", guarded, rounds(1, func(o *Observation) { o.LostUpdates = -2 }), results.VerdictUnsafe, "2 updates more than anybody made", false},
	} {
		c := &Cell{Lock: x.l, Topology: backends.Topology{Name: "redis"}, Fault: faultHolderPause, Policy: Careless}
		r := &run{o: Options{Rounds: 10, Seed: 7}}
		v := r.verdict(c, x.rounds, backends.Facts{Topology: "redis", Network: "bridge"}, Times{TTL: time.Second})
		if v.Verdict != x.want || !strings.Contains(v.Reason, x.reason) || (x.reason == "") != (v.Reason == "") && v.Verdict == results.VerdictSafe {
			t.Errorf("%s: got %s (%s), want %s (%s)", x.name, v.Verdict, v.Reason, x.want, x.reason)
		}
		if (v.AtMost != nil) != x.atMost || v.Rounds != len(x.rounds) || v.Seed != 7 || v.TTLMS != 1000 {
			t.Errorf("%s: got bound %v, %d rounds, seed %d, TTL %g", x.name, v.AtMost, v.Rounds, v.Seed, v.TTLMS)
		}
		if fenced := x.l.Name == "lease"; (v.StaleFenced != nil) != fenced || (v.CurrentRejected != nil) != fenced {
			t.Errorf("%s: figures of the fenced store: got %v, %v, want some: %v", x.name, v.StaleFenced, v.CurrentRejected, fenced)
		}
		if (v.LostUpdates != nil) != (x.l.Kind != lock.KindLease) {
			t.Errorf("%s: lost updates: got %v", x.name, v.LostUpdates)
		}
		if (v.Counterexample != "") != (v.Bad > 0) {
			t.Errorf("%s: %d bad rounds, counterexample %q", x.name, v.Bad, v.Counterexample)
		}
	}
}

// TestTally: the sums of a cell.
func TestTally(t *testing.T) {
	d := func(ms int) *time.Duration { v := time.Duration(ms) * time.Millisecond; return &v }
	all := []Observation{
		{Felt: true, Probative: true, Injection: Injection{InjectedNS: 2e9, RecoveredNS: 3e9}, DoubleGrants: 1, StaleHolders: 2, Overlap: 30 * time.Millisecond,
			OverlapRunning: 5 * time.Millisecond, Recovery: d(10), Detection: d(1), Gap: d(7), Past: d(4), Orphans: []string{"a", "b"}, Linear: "yes", OwnTTL: time.Second},
		{Felt: true, Injection: Injection{InjectedNS: 1e9}, StaleUnfenced: 3, StaleFenced: 1, CurrentRejected: 2, Overlap: 20 * time.Millisecond,
			OverlapRunning: 9 * time.Millisecond, Recovery: d(30), LostUpdates: -2, Linear: "unknown", OwnTTL: 990 * time.Millisecond, Why: "late"},
		{Felt: false, Injection: Injection{InjectedNS: 4e9}, StaleUnfenced: 100, Recovery: d(1000), Why: "nothing seen"},
		{Felt: true, Probative: true, Recovery: d(20), LostUpdates: 1},
	}
	var v results.ChaosVerdict
	v.Kind = "guarded"
	s := tallyUp(&v, all, true)
	if v.Rounds != 4 || v.Felt != 3 || v.Probative != 2 || v.Injections != 3 || v.Bad != 3 {
		t.Errorf("rounds: got %d, %d felt, %d count, %d injections, %d bad", v.Rounds, v.Felt, v.Probative, v.Injections, v.Bad)
	}
	if v.DoubleGrants != 1 || v.StaleHolders != 2 || v.StaleUnfenced != 3 || *v.StaleFenced != 1 || *v.CurrentRejected != 2 || *v.LostUpdates != 3 || v.Orphans != 2 {
		t.Errorf("sums: got %+v", v)
	}
	if v.OverlapMaxMS != 30 || v.OverlapRunningMaxMS != 9 {
		t.Errorf("overlap: got %g, %g", v.OverlapMaxMS, v.OverlapRunningMaxMS)
	}
	if v.Recovery.Count != 3 || v.Recovery.P50 != 20 || v.Recovery.Max != 30 || v.DetectionLag.Count != 1 || v.Gap.P50 != 7 || v.PastDeadline.P50 != 4 {
		t.Errorf("times: got %+v, %+v, %+v, %+v", v.Recovery, v.DetectionLag, v.Gap, v.PastDeadline)
	}
	if v.ElapsedMS != 3000 || s.ttl != time.Second || v.Linearizable != "unknown" {
		t.Errorf("got %g ms, TTL %v, linearizable %q", v.ElapsedMS, s.ttl, v.Linearizable)
	}
	if s.saved || s.bad != &all[1] || s.not != "nothing seen" {
		t.Errorf("got saved %v, bad round %+v, %q; want the round with damage, which the fence did not save", s.saved, s.bad, s.not)
	}
}

// TestTiming: medians and percentiles, of few and of many.
func TestTiming(t *testing.T) {
	if timing(nil) != nil {
		t.Error("none: want nothing")
	}
	seq := func(n int) (out []time.Duration) {
		for i := n; i >= 1; i-- {
			out = append(out, time.Duration(i)*time.Millisecond)
		}
		return out
	}
	for _, x := range []struct {
		n        int
		p50, max float64
		p99      float64 // 0: none
	}{{1, 1, 1, 0}, {2, 1.5, 2, 0}, {3, 2, 3, 0}, {10, 5.5, 10, 0}, {99, 50, 99, 0}, {100, 50.5, 100, 99}, {200, 100.5, 200, 198}, {201, 101, 201, 199}} {
		got := timing(seq(x.n))
		if got.Count != x.n || got.P50 != x.p50 || got.Max != x.max || (got.P99 != nil) != (x.p99 != 0) || got.P99 != nil && *got.P99 != x.p99 {
			t.Errorf("1 to %d ms: got %+v, want %+v", x.n, got, x)
		}
	}
}

// TestAtMost: 1 - 0.05^(1/n), in percent.
func TestAtMost(t *testing.T) {
	for n, want := range map[int]float64{1: 95, 3: 63.2, 10: 25.9, 20: 13.9, 59: 4.95, 200: 1.49} {
		if got := 100 * atMost(n); math.Abs(got-want) > 0.05 {
			t.Errorf("%d good rounds: got %.2f %%, want %.2f %%", n, got, want)
		}
		// By its meaning: with that share of bad rounds, n good ones come about in 5 % of all cases.
		if got := math.Pow(1-atMost(n), float64(n)); math.Abs(got-0.05) > 1e-12 {
			t.Errorf("%d good rounds: chance %g, want 0.05", n, got)
		}
	}
}

func TestWorseLinear(t *testing.T) {
	for _, x := range [][3]string{{"", "", ""}, {"", "yes", "yes"}, {"yes", "yes", "yes"}, {"yes", "unknown", "unknown"}, {"unknown", "no", "no"}, {"no", "yes", "no"}} {
		if got := worseLinear(x[0], x[1]); got != x[2] {
			t.Errorf("%q and %q: got %q, want %q", x[0], x[1], got, x[2])
		}
		if got := worseLinear(x[1], x[0]); got != x[2] {
			t.Errorf("%q and %q: got %q, want %q", x[1], x[0], got, x[2])
		}
	}
}

// TestExpect: the record says what theory expects, and whether that is so.
func TestExpect(t *testing.T) {
	entry := Expected{Verdict: results.VerdictSafe, Bound: "T + poll", Theory: "because", BoundMS: func(t Times, params map[string]float64) (float64, error) {
		return ms(t.TTL) + params["pause_ms"], nil
	}}
	c := &Cell{Lock: leaseInfo, Topology: backends.Topology{Name: "redis"}, Fault: faultHolderPause, Policy: Careful}
	skipped := *c
	skipped.Skip = "not here"
	for _, x := range []struct {
		name          string
		c             *Cell
		rounds        []Observation
		entry         func(*Expected)
		ok            bool
		expected      string
		agrees, known bool
		bound         float64 // 0: none
	}{
		{"as expected", c, rounds(1, nil), nil, true, "safe", true, false, 1500},
		{"worse", c, rounds(1, taken), nil, true, "safe", false, false, 1500},
		{"better", c, rounds(1, nil), func(e *Expected) { e.Verdict = results.VerdictUnsafe }, true, "unsafe", false, false, 1500},
		{"found before", c, rounds(1, taken), func(e *Expected) { e.Seen, e.Note = results.VerdictUnsafe, "known" }, true, "safe", false, true, 1500},
		{"another finding", c, rounds(1, stale), func(e *Expected) { e.Seen, e.Note = results.VerdictUnsafe, "known" }, true, "safe", false, false, 1500},
		{"no bound", c, rounds(1, nil), func(e *Expected) { e.BoundMS = nil }, true, "safe", true, false, 0},
		{"a bound that cannot be told", c, rounds(1, nil), func(e *Expected) {
			e.BoundMS = func(Times, map[string]float64) (float64, error) { return 3, errors.New("no") }
		}, true, "safe", true, false, 0},
		{"nothing is expected", c, rounds(1, nil), nil, false, "", false, false, 0},
		{"skipped, as expected", &skipped, nil, func(e *Expected) { e.Verdict = results.VerdictSkipped }, true, "", true, false, 0},
		{"skipped, and could be run", &skipped, nil, nil, true, "safe", false, false, 0},
	} {
		e := entry
		if x.entry != nil {
			x.entry(&e)
		}
		r := &run{o: Options{Rounds: 1, Set: map[string]map[string]float64{HolderPause: {"pause_ms": 500}},
			Expect: func(lock, topology, fault, policy string) (Expected, bool) {
				if lock != "lease" || topology != "redis" || fault != HolderPause || policy != Careful {
					t.Errorf("%s: asked for %s, %s, %s, %s", x.name, lock, topology, fault, policy)
				}
				return e, x.ok
			}}}
		v := r.verdict(x.c, x.rounds, backends.Facts{Topology: "redis", Network: "bridge"}, Times{TTL: time.Second})
		if v.Expected != x.expected || v.Agrees != x.agrees || v.Known != x.known || (v.BoundMS != nil) != (x.bound != 0) || v.BoundMS != nil && *v.BoundMS != x.bound {
			t.Errorf("%s: got expected %q, agrees %v, known %v, bound %v; want %+v", x.name, v.Expected, v.Agrees, v.Known, v.BoundMS, x)
		}
		if (v.Note != "") != x.known || (v.Theory != "") != x.ok {
			t.Errorf("%s: got note %q, theory %q", x.name, v.Note, v.Theory)
		}
	}
	// What the user sets is not the controls'.
	control := &Cell{Lock: leaseInfo, Fault: faultHolderPause, Policy: Careless, Control: true, Want: results.VerdictFence}
	v := (&run{o: Options{Rounds: 1, Set: map[string]map[string]float64{HolderPause: {"pause_ms": 1}}}}).verdict(control, rounds(1, stale), backends.Facts{}, Times{})
	if !v.Control || v.Expected != results.VerdictFence || !v.Agrees || len(v.Params) != 0 {
		t.Errorf("a control: got %+v", v)
	}
}

// TestConclude: what all verdicts together come to.
func TestConclude(t *testing.T) {
	v := func(verdict, expected string, change func(*results.ChaosVerdict)) results.ChaosVerdict {
		out := results.ChaosVerdict{Lock: "l", Topology: "t", Fault: "f", Policy: "p", Verdict: verdict, Expected: expected, Agrees: verdict == expected}
		if change != nil {
			change(&out)
		}
		return out
	}
	control := func(o *results.ChaosVerdict) { o.Control = true }
	known := func(o *results.ChaosVerdict) { o.Known = true }
	for _, x := range []struct {
		name string
		in   []results.ChaosVerdict
		want string
	}{
		{"nothing", nil, "ran 0"},
		{"as expected", []results.ChaosVerdict{v("safe", "safe", nil), v("unsafe", "unsafe", nil), v("safe-with-fence", "safe-with-fence", nil)}, "ran 3"},
		{"skipped", []results.ChaosVerdict{v("skipped", "safe", nil), v("skipped", "", nil)}, "ran 0"},
		{"worse", []results.ChaosVerdict{v("unsafe", "safe", nil), v("unsafe", "safe-with-fence", nil), v("safe-with-fence", "safe", nil)}, "ran 3 worse 3"},
		{"better", []results.ChaosVerdict{v("safe", "unsafe", nil), v("safe", "safe-with-fence", nil), v("safe-with-fence", "unsafe", nil)}, "ran 3 better 3"},
		{"unknown", []results.ChaosVerdict{v("unknown", "safe", nil), v("unknown", "", nil)}, "ran 2 unknown 2"},
		{"found before", []results.ChaosVerdict{v("unsafe", "safe", known), v("safe", "unsafe", known)}, "ran 2 known 2"},
		{"nobody expects anything", []results.ChaosVerdict{v("unsafe", "", nil), v("safe", "", nil)}, "ran 2 worse 1"},
		{"controls that hold", []results.ChaosVerdict{v("safe", "safe", control), v("unsafe", "unsafe", control)}, "ran 0"},
		{"a control that was not caught", []results.ChaosVerdict{v("safe", "unsafe", control)}, "ran 0 failed 1"},
		{"a control that is unknown", []results.ChaosVerdict{v("unknown", "safe", control)}, "ran 0 failed 1"},
	} {
		c := Conclude(x.in)
		got := fmt.Sprintf("ran %d", c.Ran)
		for _, l := range []struct {
			name string
			in   []string
		}{{"worse", c.Worse}, {"better", c.Better}, {"unknown", c.Unknown}, {"known", c.Known}, {"failed", c.FailedControls}} {
			if len(l.in) > 0 {
				got += fmt.Sprintf(" %s %d", l.name, len(l.in))
				if !strings.HasPrefix(l.in[0], "l/t/f/p") {
					t.Errorf("%s: %s: got %q", x.name, l.name, l.in)
				}
			}
		}
		if got != x.want {
			t.Errorf("%s: got %q, want %q", x.name, got, x.want)
		}
	}
}

// TestRandom: a cell sees the same whatever else is run, and each cell and round something of its own.
func TestRandom(t *testing.T) {
	draw := func(seed uint64, fault, topology string, round int) string {
		r := random(seed, fault, topology, round)
		return fmt.Sprint(r.Uint64(), r.Uint64(), r.Uint64())
	}
	seen := map[string]string{}
	for _, seed := range []uint64{1, 2} {
		for _, fault := range []string{HolderKill, HolderPause, ServerKill} {
			for _, topology := range []string{"redis", "etcd-3"} {
				for round := range 3 {
					is := fmt.Sprint(seed, fault, topology, round)
					got := draw(seed, fault, topology, round)
					if again := draw(seed, fault, topology, round); again != got {
						t.Errorf("%s: got %s, then %s", is, got, again)
					}
					if other, ok := seen[got]; ok {
						t.Errorf("%s and %s: both get %s", is, other, got)
					}
					seen[got] = is
				}
			}
		}
	}
	// The numbers are those of the seed for ever: a verdict is repeated by it.
	if got := random(1, HolderKill, "redis", 0).Int64N(1_000_000); got != 669314 {
		t.Errorf("seed 1, holder-kill on redis, round 0: got %d", got)
	}
}

// TestEvent: an injection is told as an interval, and why a round does not count.
func TestEvent(t *testing.T) {
	c := &Cell{Lock: leaseInfo, Topology: backends.Topology{Name: "redis"}, Fault: faultHolderPause, Policy: Careful}
	for _, x := range []struct {
		o    Observation
		text string
		end  int64
	}{
		{Observation{Felt: true, Injection: Injection{InjectedNS: 5, FeltNS: 6, RecoveredNS: 9, Evidence: "state T"}}, "holder-pause, felt: state T", 9},
		{Observation{Felt: true, Injection: Injection{InjectedNS: 5, FeltNS: 6}}, "holder-pause", 6},
		{Observation{Why: "it runs", Injection: Injection{InjectedNS: 5}}, "holder-pause, not felt: it runs", 0},
		{Observation{Felt: true, Why: "late", Injection: Injection{InjectedNS: 5, FeltNS: 6, Evidence: "state T"}}, "holder-pause, felt: state T; the round does not count: late", 6},
	} {
		x.o.Round = 3
		e := event(c, x.o)
		if e.Text != x.text || e.AtNS != 5 || e.EndNS != x.end || e.Cell != "lease/redis/holder-pause/careful" || e.Rep != 3 || e.Kind != "fault" {
			t.Errorf("%+v: got %+v", x.o, e)
		}
	}
}

// TestCounterfile: the timeline of a bad round is a file to read, and Porcupine's picture stands beside it.
func TestCounterfile(t *testing.T) {
	dir := t.TempDir()
	var said []string
	r := &run{o: Options{Rounds: 1, Seed: 9, CounterDir: dir, Log: func(s string) { said = append(said, s) }}}
	c := &Cell{Lock: leaseInfo, Topology: backends.Topology{Name: "redis"}, Fault: faultHolderPause, Policy: Careless}
	bad := round(taken)
	bad.Round, bad.Lines = 4, []timeline.Line{{AtNS: 1e6, Who: "holder", Text: "is granted"}, {AtNS: 9e6, Who: "store", Text: "STALE WRITE", Bad: true}}
	v := r.verdict(c, []Observation{round(nil), bad}, backends.Facts{}, Times{})
	b, err := os.ReadFile(v.Counterfile)
	if err != nil || string(b) != v.Counterexample || filepath.Base(v.Counterfile) != "lease_redis_holder-pause_careless.txt" {
		t.Errorf("file %q: %v, %q, want %q", v.Counterfile, err, b, v.Counterexample)
	}
	for _, want := range []string{"lease/redis/holder-pause/careless, round 4, seed 9", "is granted", "STALE WRITE"} {
		if !strings.Contains(v.Counterexample, want) {
			t.Errorf("counterexample: got %q, want it to have %q", v.Counterexample, want)
		}
	}
	if len(said) > 0 {
		t.Errorf("said %q", said)
	}
	r.o.CounterDir = filepath.Join(dir, "none")
	if v = r.verdict(c, []Observation{bad}, backends.Facts{}, Times{}); v.Counterfile != "" || v.Counterexample == "" || len(said) != 1 {
		t.Errorf("a directory that is not there: got file %q, said %q", v.Counterfile, said)
	}
}

// TestNamed: the error about a name that is none lists near ones.
func TestNamed(t *testing.T) {
	_, err := Named("holder-kil")
	var u *near.UnknownError
	if !errors.As(err, &u) || u.What != "fault" || !slices.Contains(u.Near, HolderKill) {
		t.Errorf("got %v", err)
	}
}
