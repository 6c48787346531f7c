package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// safeVerdict is a cell of ten good rounds.
func safeVerdict(lock, fault, policy string) *ChaosVerdict {
	return &ChaosVerdict{
		Type: TypeVerdict, Lock: lock, Kind: "lease", Topology: "redis", Fault: fault, On: "holder", Policy: policy, TTLMS: 1000,
		Rounds: 12, Felt: 11, Probative: 10, Injections: 12, Verdict: VerdictSafe, Expected: VerdictSafe, Agrees: true, AtMost: ptr(25.9),
		StaleFenced: ptr(0), CurrentRejected: ptr(0), Recovery: &Timing{Count: 10, P50: 840, Max: 990}, BoundMS: ptr(1050.0), Seed: 7,
	}
}

func TestVerdictValidate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(v *ChaosVerdict)
		want   string // field, "" = valid
	}{
		{"as it is", func(v *ChaosVerdict) {}, ""},
		{"no lock", func(v *ChaosVerdict) { v.Lock = "" }, "lock"},
		{"no fault", func(v *ChaosVerdict) { v.Fault = "" }, "fault"},
		{"no policy", func(v *ChaosVerdict) { v.Policy = "" }, "policy"},
		{"another word", func(v *ChaosVerdict) { v.Verdict = "fine" }, "verdict"},
		{"another expectation", func(v *ChaosVerdict) { v.Expected = VerdictSkipped }, "expected"},
		{"no round", func(v *ChaosVerdict) { v.Rounds, v.Felt, v.Probative = 0, 0, 0 }, "verdict"},
		{"no round that proves it", func(v *ChaosVerdict) { v.Probative = 0 }, "verdict"},
		{"more felt than run", func(v *ChaosVerdict) { v.Felt = 13 }, "felt"},
		{"more probative than felt", func(v *ChaosVerdict) { v.Probative = 12 }, "probative"},
		{"negative", func(v *ChaosVerdict) { v.Orphans = -1 }, "orphans"},
		{"too many", func(v *ChaosVerdict) { v.Rounds = math.MaxInt }, "rounds"},
		{"safe with a bad round", func(v *ChaosVerdict) { v.Bad = 1 }, "verdict"},
		{"unsafe", func(v *ChaosVerdict) { v.Verdict, v.Agrees, v.Bad, v.AtMost = VerdictUnsafe, false, 1, nil }, ""},
		{"unsafe without a bad round", func(v *ChaosVerdict) { v.Verdict, v.Agrees = VerdictUnsafe, false }, "verdict"},
		{"more bad than run", func(v *ChaosVerdict) { v.Verdict, v.Agrees, v.Bad, v.AtMost = VerdictUnsafe, false, 13, nil }, "bad_rounds"},
		{"fence", func(v *ChaosVerdict) { v.Verdict, v.Agrees, v.Bad, v.AtMost = VerdictFence, false, 1, nil }, ""},
		{"fence without a token", func(v *ChaosVerdict) {
			v.Verdict, v.Agrees, v.Bad, v.AtMost, v.StaleFenced = VerdictFence, false, 1, nil, nil
		}, "stale_writes_fenced"},
		{"fence that let one through", func(v *ChaosVerdict) {
			v.Verdict, v.Agrees, v.Bad, v.AtMost, v.StaleFenced = VerdictFence, false, 1, nil, ptr(1)
		}, "stale_writes_fenced"},
		{"a bound beside bad rounds", func(v *ChaosVerdict) { v.Verdict, v.Agrees, v.Bad = VerdictUnsafe, false, 1 }, "bad_at_most_pct"},
		{"a bound of 200 %", func(v *ChaosVerdict) { v.AtMost = ptr(200.0) }, "bad_at_most_pct"},
		{"agrees with another", func(v *ChaosVerdict) { v.Expected = VerdictUnsafe }, "agrees"},
		{"disagrees with the same", func(v *ChaosVerdict) { v.Agrees = false }, "agrees"},
		{"nothing expected", func(v *ChaosVerdict) { v.Expected, v.Agrees = "", false }, ""},
		{"skipped", func(v *ChaosVerdict) {
			*v = ChaosVerdict{Lock: "a", Fault: "f", Policy: "p", Verdict: VerdictSkipped, Reason: "no leader"}
		}, ""},
		{"skipped, who knows why", func(v *ChaosVerdict) { *v = ChaosVerdict{Lock: "a", Fault: "f", Policy: "p", Verdict: VerdictSkipped} }, "reason"},
		{"unknown, who knows why", func(v *ChaosVerdict) { v.Verdict, v.Agrees = VerdictUnknown, false }, "reason"},
		{"half a history", func(v *ChaosVerdict) { v.Linearizable = "maybe" }, "linearizable"},
		{"no duration", func(v *ChaosVerdict) { v.Recovery = &Timing{} }, "recovery.count"},
		{"negative gap", func(v *ChaosVerdict) { v.Gap = &Timing{Count: 1, P50: -1, Max: 5} }, "availability_gap.p50_ms"},
		{"granted before the holder has left", func(v *ChaosVerdict) { v.Recovery.P50 = -1 }, ""},
		{"a recovery of minus two years", func(v *ChaosVerdict) { v.Recovery.P50 = -6.4e10 }, "recovery.p50_ms"},
		{"median above the longest", func(v *ChaosVerdict) { v.Recovery.P50 = 1000 }, "recovery.max_ms"},
		{"p99 of ten", func(v *ChaosVerdict) { v.Recovery.P99 = ptr(900.0) }, "recovery.p99_ms"},
		{"p99 of a hundred", func(v *ChaosVerdict) { v.Recovery.Count, v.Recovery.P99 = 100, ptr(900.0) }, ""},
		{"p99 above the longest", func(v *ChaosVerdict) { v.Recovery.Count, v.Recovery.P99 = 100, ptr(991.0) }, "recovery.p99_ms"},
		{"gives up early", func(v *ChaosVerdict) { v.DetectionLag = &Timing{Count: 1, P50: -5, Max: 1} }, ""},
		{"no number", func(v *ChaosVerdict) { v.OverlapMaxMS = math.NaN() }, "overlap_ms_max"},
		{"infinite", func(v *ChaosVerdict) { v.BoundMS = ptr(math.Inf(1)) }, "bound_ms"},
		{"infinite parameter", func(v *ChaosVerdict) { v.Params = map[string]float64{"pause_ms": math.Inf(1)} }, "params.pause_ms"},
	} {
		v := safeVerdict("redis", "holder-kill", "careful")
		tc.change(v)
		got := ""
		var fe *FieldError
		if err := v.Validate(); errors.As(err, &fe) {
			got = fe.Field
		} else if err != nil {
			t.Fatalf("%s: %v is no FieldError", tc.name, err)
		}
		if got != tc.want {
			t.Errorf("%s: the wrong field is %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestVerdictsWriteAndRead(t *testing.T) {
	want := safeVerdict("redis", "holder-kill", "careful")
	var b bytes.Buffer
	w := NewWriter(&b, "out")
	other := json.RawMessage(`{"type":"verdict","verdict":"pass","kind":"pairs"}`)
	untyped := *want
	untyped.Type = ""
	for _, rec := range []any{testRun("a"), untyped, &Event{Kind: EventFault, AtNS: 5, EndNS: 9}, other} {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	bad := *want
	bad.Probative = 0
	if err := w.Write(bad); err == nil {
		t.Error("a safe verdict without a round was written")
	}
	recs, r, err := readAll(t, b.String())
	if err != nil || len(recs) != 4 || len(r.Unknown) != 0 {
		t.Fatalf("got %d records, %v unknown, error %v", len(recs), r.Unknown, err)
	}
	if diff := cmp.Diff(want, recs[1].Verdict); diff != "" {
		t.Errorf("the verdict read differs (-want +got):\n%s", diff)
	}
	if recs[1].Raw != nil || recs[3].Verdict != nil || string(recs[3].Raw) != string(other) {
		t.Errorf("a gate's verdict is %+v with the line %s, want the line alone", recs[3].Verdict, recs[3].Raw)
	}
	if e := recs[2].Event; e.EndNS != 9 {
		t.Errorf("an injection ends at %d, want 9", e.EndNS)
	}
	for in, field := range map[string]string{
		`{"type":"verdict","fault":7}`:   "fault",
		`{"type":"verdict","fault":"x"}`: "lock",
		strings.Replace(strings.Split(b.String(), "\n")[1], `"probative":10`, `"probative":0`, 1): "verdict",
	} {
		_, _, err := readAll(t, strings.Split(b.String(), "\n")[0]+"\n"+in+"\n")
		var fe *FileError
		if !errors.As(err, &fe) || fe.Line != 2 || fe.Field != field {
			t.Errorf("%.60s: got %v, want an error in line 2 at %s", in, err, field)
		}
	}
}

func TestChaosReport(t *testing.T) {
	control := safeVerdict("control-perfect", "holder-pause", "careless")
	control.Control = true
	worse := safeVerdict("redis", "holder-pause", "careless")
	worse.Verdict, worse.Bad, worse.AtMost, worse.Agrees, worse.Reason = VerdictUnsafe, 3, nil, false, "two \x1b[31m inside"
	better := safeVerdict("redis", "holder-cutoff", "careless")
	better.Expected, better.Agrees, better.Counterexample = VerdictFence, false, "one\ntwo\x00"
	late := safeVerdict("redis", "holder-kill", "careful")
	late.Recovery.Max = 2000
	b := NewBuilder(SummariesOnly())
	add := func(file string, recs ...Record) {
		t.Helper()
		for _, rec := range recs {
			if err := b.Add(file, rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	add("a", Record{Run: testRun("r")}, Record{Verdict: control}, Record{Verdict: better}, Record{Verdict: worse}, Record{Verdict: late},
		Record{Event: &Event{Kind: EventFault}}, Record{Event: &Event{Kind: "step"}})
	add("b", Record{Run: testRun("r")}, Record{Verdict: worse})
	run := b.Report().Runs[0]
	c := run.Chaos
	if c == nil {
		t.Fatal("the run has no chaos")
	}
	if want := []string{"b: records of run r that were read before are not counted again: 1"}; !slices.Equal(run.Warnings, want) {
		t.Errorf("warnings %q, want %q: a run of verdicts needs no repetitions", run.Warnings, want)
	}
	if len(c.Controls) != 1 || len(c.Verdicts) != 3 || len(c.Faults) != 1 || len(c.FailedControls()) != 0 {
		t.Errorf("%d controls, %d failed, %d verdicts, %d faults", len(c.Controls), len(c.FailedControls()), len(c.Verdicts), len(c.Faults))
	}
	names := func(all []*ChaosVerdict) (out []string) {
		for _, v := range all {
			out = append(out, v.Fault)
		}
		return out
	}
	if got, want := names(c.Differing()), []string{"holder-pause", "holder-cutoff"}; !slices.Equal(got, want) {
		t.Errorf("differing: got %q, want %q, the worse one first", got, want)
	}
	if got, want := names(c.Late()), []string{"holder-kill"}; !slices.Equal(got, want) {
		t.Errorf("late: got %q, want %q", got, want)
	}
	if got := c.Differing()[0].Reason; got != "two \ufffd[31m inside" {
		t.Errorf("the reason is shown as %q", got)
	}
	if got := c.Differing()[1].Counterexample; got != "one\ntwo\ufffd" {
		t.Errorf("the timeline is shown as %q, want its lines", got)
	}
	if rep := c.Report(); len(rep.Runs) != 1 || rep.Runs[0].Chaos != c || rep.Runs[0].Run.RunID != "r" {
		t.Errorf("the report of the chaos alone is %+v", rep.Runs)
	}
}

func TestWorseBy(t *testing.T) {
	for _, tc := range []struct {
		verdict, expected string
		want              int
	}{
		{VerdictSafe, VerdictSafe, 0}, {VerdictFence, VerdictSafe, 1}, {VerdictUnsafe, VerdictSafe, 2}, {VerdictUnsafe, VerdictFence, 1},
		{VerdictSafe, VerdictUnsafe, -2}, {VerdictFence, VerdictUnsafe, -1}, {VerdictUnsafe, VerdictUnsafe, 0},
		{VerdictUnsafe, "", 1}, {VerdictFence, "", 0}, {VerdictSafe, "", 0}, {VerdictUnknown, VerdictSafe, 0}, {VerdictSkipped, "", 0},
	} {
		v := &ChaosVerdict{Verdict: tc.verdict, Expected: tc.expected}
		if got := v.WorseBy(); got != tc.want {
			t.Errorf("%s, expected %q: got %d, want %d", tc.verdict, tc.expected, got, tc.want)
		}
	}
}

func TestChaosMatrix(t *testing.T) {
	var all []*ChaosVerdict
	add := func(lock, peer, topology, fault, on, policy string) {
		v := safeVerdict(lock, fault, policy)
		v.Peer, v.Topology, v.On = peer, topology, on
		all = append(all, v)
	}
	add("mutex", "", "", "goroutine-exit", "process", "plain")
	add("redsync", "example.org/redsync", "redis", "server-kill", "servers", "careful")
	add("redis", "", "redis", "server-kill", "servers", "careful")
	add("etcd", "", "etcd-3", "holder-kill", "holder", "careless")
	add("etcd", "", "etcd-3", "holder-kill", "holder", "careful")
	add("etcd", "", "etcd-3", "holder-kill", "holder", "careful") // with other parameters
	add("etcd", "", "etcd-3", "none", "nothing", "careful")
	add("pg-version", "", "postgres", "none", "nothing", "guarded")
	run := testRun("a")
	run.Spec = map[string]any{"faults": []string{"none", "server-kill", "holder-kill"}, "topologies": []string{"redis", "etcd-3"}}
	m := NewChaosReport(run, all, nil).Matrix()
	slices.Reverse(all) // what was done last
	if diff := cmp.Diff(m.Rows, NewChaosReport(run, all, nil).Matrix().Rows); diff != "" {
		t.Errorf("the rows depend on the order in which cells were done:\n%s", diff)
	}
	wantColumns := []ChaosColumn{{Lock: "redis", Topology: "redis"}, {Lock: "redsync", Topology: "redis"}, {Lock: "etcd", Topology: "etcd-3"},
		{Lock: "pg-version", Topology: "postgres"}, {Lock: "mutex"}}
	if diff := cmp.Diff(wantColumns, m.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	wantRows := []ChaosRow{{"none", "careful", 1}, {"none", "guarded", 1}, {"holder-kill", "careful", 1}, {"holder-kill", "careless", 1}, {"holder-kill", "careful", 2},
		{"server-kill", "careful", 1}, {"goroutine-exit", "plain", 1}}
	if diff := cmp.Diff(wantRows, m.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if v := m.At(wantRows[2], wantColumns[2]); v == nil || v.Lock != "etcd" || v.Policy != "careful" {
		t.Errorf("the cell is %+v", v)
	}
	if v := m.At(wantRows[0], wantColumns[0]); v != nil {
		t.Errorf("a cell that was not run is %+v", v)
	}
	if got, want := m.Part(wantColumns[3:4]).Rows, wantRows[1:2]; !slices.Equal(got, want) {
		t.Errorf("rows of a part: got %v, want %v", got, want)
	}
}
