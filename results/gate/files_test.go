package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/compare"
)

// A fileSpec is one side of two files.
type fileSpec struct {
	id       string
	reps     int
	rate     map[string]float64 // lock -> operations a second
	noise    float64
	kernel   string
	goVer    string
	coherent float64 // coherence_ns, 0 = not measured
	outcome  map[string]string
	dispatch string
}

func (f fileSpec) side(t testing.TB, label string, seed uint64) *compare.Side {
	t.Helper()
	b := results.NewBuilder()
	add := func(rec results.Record) {
		if err := b.Add(label+".jsonl", rec); err != nil {
			t.Fatal(err)
		}
	}
	host := map[string]any{"os": "linux", "cpu_model": "CPU", "kernel": f.kernel, "logical_cpus": 2, "mem_total_bytes": 8 << 30}
	if f.kernel == "none" {
		host = nil
	}
	add(results.Record{Type: results.TypeRun, Run: &results.Run{RunID: f.id, Reps: f.reps, Host: host, Go: results.GoInfo{Version: f.goVer, GOOS: "linux", GOARCH: "amd64"}}})
	r := rand.New(rand.NewPCG(seed, 6))
	for _, lock := range []string{"null", "mutex", "mcs"} {
		for rep := range f.reps {
			rate, ok := f.rate[lock]
			if !ok {
				continue
			}
			c := cellOf(lock)
			s := half(c, "", rep, rate*math.Exp(f.noise*r.NormFloat64()))
			s.Dispatch, s.Threads, s.Clients = "direct", "free", 1
			if f.dispatch != "" {
				s.Dispatch = f.dispatch
			}
			s.CoherenceNS = nil
			if f.coherent > 0 {
				ns := f.coherent * math.Exp(f.noise*r.NormFloat64())
				s.CoherenceNS = &ns
			}
			if o := f.outcome[lock]; o != "" && rep == 0 {
				s.Outcome = o
			}
			add(results.Record{Type: results.TypeSample, Sample: s})
		}
	}
	return &compare.Side{Label: label, Report: b.Report()}
}

func TestFiles(t *testing.T) {
	good := func(edit func(*fileSpec)) fileSpec {
		f := fileSpec{reps: 20, noise: 0.01, kernel: "6.1", goVer: "go1.26", coherent: 40,
			rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
		if edit != nil {
			edit(&f)
		}
		return f
	}
	rate := func(lock string, factor float64) func(*fileSpec) {
		return func(f *fileSpec) { f.rate[lock] *= factor }
	}
	mcs := "rules: [{lock: mcs, metric: throughput_ops_s, max-regression: 5%}]"
	for _, tc := range []struct {
		name     string
		rules    string
		old, new fileSpec
		want     Verdict
		reason   string
	}{
		{"no change", mcs, good(nil), good(nil), Pass, "within"},
		{"slower", mcs, good(nil), good(rate("mcs", 0.8)), Fail, "beyond"},
		{"faster", mcs, good(nil), good(rate("mcs", 1.5)), Pass, "within"},
		{"about the threshold", mcs, good(nil), good(rate("mcs", 0.953)), Inconclusive, "inside the interval"},
		{"slower, and mutex as well", mcs, good(nil), good(func(f *fileSpec) { f.rate["mcs"] *= 0.8; f.rate["mutex"] *= 0.8 }), Inconclusive, "the machine changed: the control mutex's throughput_ops_s moved by -19.9"},
		{"same, but null is slower", mcs, good(nil), good(rate("null", 0.9)), Inconclusive, "the machine changed: the control null's wall_ns_per_op moved by +11"},
		{"mutex drifts within the threshold, beyond chance", mcs, good(nil), good(rate("mutex", 0.97)), Inconclusive, "moved beyond chance, by -2.89"},
		{"coherence doubled", mcs, good(nil), good(func(f *fileSpec) { f.coherent = 80 }), Inconclusive, "the machine changed: the control coherence_ns"},
		{"coherence on one side", mcs, good(nil), good(func(f *fileSpec) { f.coherent = 0 }), Inconclusive, "only one side knows its coherence_ns"},
		{"coherence on none", mcs, good(func(f *fileSpec) { f.coherent = 0 }), good(func(f *fileSpec) { f.coherent = 0 }), Pass, "within"},
		{"no mutex", mcs, good(nil), good(func(f *fileSpec) { delete(f.rate, "mutex") }), Inconclusive, "no control: mutex was not measured beside it on both sides"},
		{"no null", mcs, good(func(f *fileSpec) { delete(f.rate, "null") }), good(nil), Inconclusive, "no control: null"},
		{"mutex itself", "rules: [{lock: mutex, metric: throughput_ops_s, max-regression: 5%}]", good(nil), good(rate("mutex", 0.8)), Fail, "beyond"},
		{"another kernel", mcs, good(nil), good(func(f *fileSpec) { f.kernel = "6.2" }), Inconclusive, "no verdict across hosts: kernel: 6.1 and 6.2"},
		{"no host", mcs, good(func(f *fileSpec) { f.kernel = "none" }), good(nil), Inconclusive, "does not say which host"},
		{"another Go version", mcs, good(nil), good(func(f *fileSpec) { f.goVer = "go1.27" }), Pass, "within"},
		{"one repetition", mcs, good(func(f *fileSpec) { f.reps = 1 }), good(func(f *fileSpec) { f.reps = 1 }), Inconclusive, "1 against 1 repetitions can prove nothing at this level; it takes 5 a side"},
		{"five against five over alpha 0.001", "alpha: 0.001\n" + mcs, good(func(f *fileSpec) { f.reps = 5 }), good(func(f *fileSpec) { f.reps = 5 }), Inconclusive, "5 against 5 repetitions can prove nothing"},
		{"only old has it", mcs, good(nil), good(func(f *fileSpec) { delete(f.rate, "mcs") }), Inconclusive, "no samples of the new side"},
		{"only new has it", mcs, good(func(f *fileSpec) { delete(f.rate, "mcs") }), good(nil), Inconclusive, "no samples of the old side"},
		{"no figures", "rules: [{lock: mcs, metric: handoff_p50_ns, max-regression: 5%}]", good(nil), good(nil), Inconclusive, "no samples: 20 of 20 repetitions of the old side do not have handoff_p50_ns"},
		{"violation", mcs, good(nil), good(func(f *fileSpec) { f.outcome = map[string]string{"mcs": "violation"} }), Violation, "violation in 1 of 20 repetitions of the new side"},
		{"violation elsewhere", mcs, good(nil), good(func(f *fileSpec) { f.outcome = map[string]string{"mutex": "hang"} }), Violation, "within"},
		{"violation of old", mcs, good(func(f *fileSpec) { f.outcome = map[string]string{"mcs": "violation"} }), good(nil), Inconclusive, "of the old side"},
		{"error", mcs, good(nil), good(func(f *fileSpec) { f.outcome = map[string]string{"mcs": "error"} }), Inconclusive, "error in 1 of 20"},
		{"a limit needs no control", "rules: [{lock: mcs, metric: throughput_ops_s, limit: 2M/s}]", good(nil), good(func(f *fileSpec) { f.kernel = "6.2"; delete(f.rate, "mutex") }), Pass, "within"},
		{"a limit, too few", "rules: [{lock: mcs, metric: throughput_ops_s, limit: 2M/s}]", good(nil), good(func(f *fileSpec) { f.reps = 3 }), Inconclusive, "3 repetitions can prove nothing at this level; it takes 8"},
	} {
		tc.old.id, tc.new.id = "a", "b"
		res, err := Files(parse(t, tc.rules), tc.old.side(t, "old", 1), tc.new.side(t, "new", 2))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := res.Tests[0]; res.Verdict != tc.want || !strings.Contains(got.Reason, tc.reason) {
			t.Errorf("%s: got %s, %q, want %s, %q", tc.name, res.Verdict, got.Reason, tc.want, tc.reason)
		}
		if tc.name == "another Go version" && !strings.Contains(strings.Join(res.Notes, "\n"), "Go version: go1.26 and go1.27") {
			t.Errorf("%s: notes %q do not name it", tc.name, res.Notes)
		}
	}
}

func TestFilesErrors(t *testing.T) {
	good := fileSpec{id: "a", reps: 6, noise: 0.01, kernel: "6.1", coherent: 40, rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
	other := good
	other.id = "b"
	iface := other
	iface.dispatch = "interface"
	for _, tc := range []struct {
		name, rules string
		old, new    fileSpec
		want        string
	}{
		{"the same run", fivePercent, good, good, "run a is on both sides"},
		{"dispatch", fivePercent, good, iface, "dispatch direct in old and interface in new"},
		{"no cell", "rules: [{lock: msc, metric: jain, limit: 0.5}]", good, other, "matches no cell"},
	} {
		res, err := Files(parse(t, tc.rules), tc.old.side(t, "old", 1), tc.new.side(t, "new", 2))
		h, ok := err.(interface{ Hint() string })
		if err == nil || !strings.Contains(err.Error(), tc.want) || !ok || h.Hint() == "" {
			t.Errorf("%s: got %+v, %v, want an error with %q and a hint", tc.name, res, err, tc.want)
		}
	}
}

// TestFilesFalse counts verdicts on files without a change, at a threshold that
// hides nothing: fails must be rare, and where the controls are checked, so must be
// inconclusive ones for a reason of chance.
func TestFilesFalse(t *testing.T) {
	const files = 200
	rules := parse(t, "alpha: 0.05\nrules: [{lock: mcs, metric: throughput_ops_s, max-regression: 0.01%}]")
	spec := fileSpec{reps: 12, noise: 0.01, kernel: "6.1", coherent: 40, rate: map[string]float64{"null": 8e6, "mutex": 2e6, "mcs": 3e6}}
	fails, wide := 0, parse(t, "alpha: 0.05\nrules: [{lock: mcs, metric: throughput_ops_s, max-regression: 5%}]")
	passes := 0
	for i := range uint64(files) {
		old, new := spec, spec
		old.id, new.id = fmt.Sprint("a", i), fmt.Sprint("b", i)
		a, b := old.side(t, "old", 2*i), new.side(t, "new", 2*i+1)
		for _, rs := range []*Rules{rules, wide} {
			res, err := Files(rs, a, b)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case res.Verdict == Fail:
				fails++
			case res.Verdict == Pass && rs == wide:
				passes++
			}
		}
	}
	if fails > 0 { // the controls differ by more than 0.01 % always: no such gate can fail
		t.Errorf("%d of %d unchanged builds failed", fails, 2*files)
	}
	if passes < files*85/100 {
		t.Errorf("%d of %d unchanged builds passed at 5 %%, want most", passes, files)
	}
}
