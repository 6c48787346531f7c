package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/golden"
	"lockbench/results/gate"
)

// gateResult is a verdict with everything in it, hostile names included.
func gateResult() *gate.Result {
	five, limit := 5.0, 5000.0
	test := func(lock string, v gate.Verdict, reason string, edit func(*gate.Test)) gate.Test {
		t := gate.Test{Rule: "speed", Line: 3, Metric: "throughput_ops_s", Unit: "ops/s", Better: "higher", Threshold: "at most 5 % lower",
			Cell:             gate.Cell{Name: lock + "/workload=moderate/workers=2", Lock: lock, Workload: "moderate", Workers: 2},
			MaxRegressionPct: &five, Verdict: v, Reason: reason}
		if edit != nil {
			edit(&t)
		}
		return t
	}
	look := &gate.Look{Pairs: 32, Alpha: 0.000625}
	ratio := func(estimate, lo, hi float64) func(*gate.Test) {
		return func(t *gate.Test) {
			t.Ratio, t.Look, t.Pairs, t.Measured = &gate.Interval{Estimate: estimate, Lo: lo, Hi: hi, N: 32, OK: true}, look, 33, 36
			t.Dropped = map[string]int{"coherence": 2, "alone": 1}
		}
	}
	tail := func(t *gate.Test) {
		t.Rule, t.Line, t.Metric, t.Unit, t.Better, t.Threshold = "|tail| 100%, <b>, `x`", 9, "acquire_p99_ns", "ns", "lower", "at most 5.00 µs"
		t.MaxRegressionPct, t.Limit = nil, &limit
		t.Value, t.Look, t.Pairs, t.Measured = &gate.Interval{Estimate: 1234, Lo: 200, Hi: math.Inf(1), N: 16, OK: true}, look, 32, 32
	}
	return &gate.Result{
		Type: "verdict", Schema: 1, Verdict: gate.Violation, Kind: gate.KindPairs, Rules: "ci/rules,a:b.yaml",
		Old:  gate.Side{Files: []string{"session.jsonl"}, RunIDs: []string{"r1"}, Programs: []string{"./old v1.2.3"}},
		New:  gate.Side{Files: []string{"session.jsonl"}, RunIDs: []string{"r1"}, Programs: []string{"./new v1.3.0"}},
		Plan: gate.Plan{Alpha: 0.01, Tests: 8, Budget: 64, Looks: []gate.Look{{Pairs: 16, Alpha: 0.000417}, {Pairs: 32, Alpha: 0.000417}, {Pairs: 64, Alpha: 0.000417}}},
		Safety: []gate.Finding{
			{Cell: "tas/workload=moderate/workers=2", Side: "new", Outcome: "violation", Reps: 3, Of: 16, Verdict: gate.Violation},
			{Cell: "mcs/workload=moderate/workers=2", Side: "old", Outcome: "hang", Reps: 1, Of: 16, Verdict: gate.Inconclusive},
			{Cell: "clh/workload=moderate/workers=2", Side: "new", Outcome: "no operation", Reps: 9, Of: 32, Old: 1, Verdict: gate.Inconclusive},
		},
		SafetyCells: 4, SafetyReps: 100,
		Tests: []gate.Test{
			test("clh", gate.Pass, "the whole interval is within the threshold", ratio(1.0031, 0.99, 1.02)),
			test("ticket", gate.Fail, "the whole interval is beyond the threshold", ratio(0.8, 0.75, 0.85)),
			test("mcs", gate.Inconclusive, "hang in 1 of 16 repetitions of the old side", ratio(0.95, 0, math.Inf(1))),
			test("chan", gate.Inconclusive, "the threshold is inside the interval; about 2500 pairs would decide", ratio(40, 0.96, 99)),
			test("\"q\"&'\\x'", gate.Inconclusive, "no samples", nil),
			test("tas", gate.Inconclusive, "the threshold is inside the interval; 3 pairs lack the metric on the new side", func(t *gate.Test) {
				ratio(0.99, 0, math.Inf(1))(t)
				t.Pairs, t.Missing, t.MissingNew, t.Infinite = 30, 3, 3, 2
			}),
			test("mutex", gate.Inconclusive, "the threshold is inside the interval\r\nand so on", tail),
		},
		Notes: []string{"the run was interrupted"},
	}
}

func TestGateGolden(t *testing.T) {
	for _, f := range GateFormats() {
		t.Run(f.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := f.Write(&out, gateResult()); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join("testdata", "gate."+f.Name), out.Bytes())
			if _, err := LookupGateFormat(f.Name); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := LookupGateFormat("jnuit"); err == nil || !strings.Contains(err.Error(), `unknown format "jnuit"`) {
		t.Errorf("unknown format: got %v", err)
	}
}

// bare is a result with one test of a verdict.
func bare(v gate.Verdict) *gate.Result {
	r := gateResult()
	r.Safety, r.Tests, r.Verdict = []gate.Finding{}, r.Tests[:1], v
	r.Tests[0].Verdict = v
	return r
}

// TestGateJUnitNeverGreen reads the XML as a CI system would: nothing but a pass
// is without failures and errors, and the counts are those of the cases.
func TestGateJUnitNeverGreen(t *testing.T) {
	nothing := bare(gate.Inconclusive)
	nothing.Tests, nothing.SafetyReps, nothing.SafetyCells = nil, 0, 0
	untested := bare(gate.Inconclusive)
	untested.Tests = nil
	for name, tc := range map[string]struct {
		res  *gate.Result
		bad  int
		want string // what the bad cases have
	}{
		"pass":         {bare(gate.Pass), 0, ""},
		"fail":         {bare(gate.Fail), 1, "failure"},
		"inconclusive": {bare(gate.Inconclusive), 1, "error"},
		"violation":    {gateResult(), 9, ""},
		"nothing":      {nothing, 2, "error"},
		"no tests":     {untested, 1, "error"},
	} {
		var out bytes.Buffer
		if err := GateJUnit(&out, tc.res); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Suites   []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Cases    []struct {
					Failure *struct{} `xml:"failure"`
					Error   *struct{} `xml:"error"`
					Skipped *struct{} `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out.String())
		}
		tests, failures, errs := 0, 0, 0
		for _, s := range got.Suites {
			if s.Tests != len(s.Cases) {
				t.Errorf("%s: a suite says %d tests and has %d", name, s.Tests, len(s.Cases))
			}
			tests += s.Tests
			for _, c := range s.Cases {
				if c.Failure != nil {
					failures++
				}
				if c.Error != nil {
					errs++
				}
				if c.Skipped != nil {
					t.Errorf("%s: skipped is green everywhere", name)
				}
			}
		}
		if failures+errs != tc.bad || tc.want == "failure" && errs > 0 || tc.want == "error" && failures > 0 ||
			got.Tests != tests || got.Failures != failures || got.Errors != errs {
			t.Errorf("%s: got %d failures, %d errors, header %d %d %d, want %d bad (%s)\n%s", name, failures, errs, got.Tests, got.Failures, got.Errors,
				tc.bad, tc.want, out.String())
		}
	}
}

// TestGateGitHub sees that no text breaks out of its place: every line is one
// whole command.
func TestGateGitHub(t *testing.T) {
	var out bytes.Buffer
	if err := GateGitHub(&out, gateResult()); err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`^::(error|warning|notice) file=ci/rules%2Ca%3Ab\.yaml(,line=\d+)?,title=[^:,\r]+::[^\r]+$`)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, l := range lines {
		if !command.MatchString(l) {
			t.Errorf("not a command: %q", l)
		}
	}
	if want := 1 + 3 + 6; len(lines) != want {
		t.Errorf("%d commands, want %d: the whole, the findings, what did not pass\n%s", len(lines), want, out.String())
	}
	for v, want := range map[gate.Verdict]string{gate.Pass: "::notice ", gate.Inconclusive: "::warning ", gate.Fail: "::error "} {
		out.Reset()
		if err := GateGitHub(&out, bare(v)); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: got %v, %q, want %q first", v, err, out.String(), want)
		}
	}
}

// TestGitHubEscapes holds the escapes against those of GitHub's toolkit.
func TestGitHubEscapes(t *testing.T) {
	var b strings.Builder
	gitHubLine(&b, "error", "a%b\r\n:,", 7, "%\r\n:,", "%\r\n:,")
	if got, want := b.String(), "::error file=a%25b%0D%0A%3A%2C,line=7,title=%25%0D%0A%3A%2C::%25%0D%0A:,\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGateJSON(t *testing.T) {
	var out bytes.Buffer
	if err := GateJSON(&out, gateResult()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type, Verdict string
		Tests         []struct {
			Ratio, Value *struct{ Estimate, Lo, Hi *float64 }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "verdict" || got.Verdict != "violation" || len(got.Tests) != 7 {
		t.Errorf("got %+v", got)
	}
	if r := got.Tests[2].Ratio; r == nil || r.Hi != nil || r.Lo == nil || *r.Lo != 0 {
		t.Errorf("an infinite bound is null, zero is zero: got %+v", r)
	}
	if got.Tests[4].Ratio != nil || got.Tests[6].Value == nil {
		t.Error("a test without samples has no figures, one with a limit has a value")
	}
}

func TestChange(t *testing.T) {
	for _, tc := range []struct {
		ratio float64
		want  string
	}{
		{1, "0 %"}, {1.00001, "0 %"}, {1.0049, "+0.49 %"}, {0.995, "-0.50 %"}, {1.0512, "+5.1 %"}, {0, "-100.0 %"}, {9.9, "+890.0 %"},
		{10, "x10.0"}, {math.Inf(1), "x inf"},
	} {
		if got := change(tc.ratio); got != tc.want {
			t.Errorf("%g: got %q, want %q", tc.ratio, got, tc.want)
		}
	}
}

// TestGateFigureCorrected sees that the interval shown is the one that the
// verdict rests on.
func TestGateFigureCorrected(t *testing.T) {
	test := gate.Test{Ratio: &gate.Interval{Estimate: 0.99, Lo: 0.98, Hi: 1, OK: true}, OldReps: 20, NewReps: 18, MissingNew: 2, Infinite: 1}
	for _, tc := range []struct {
		corrected *gate.Interval
		want      string
	}{{nil, "-2.0 % to 0 %"}, {&gate.Interval{Lo: 0.95, Hi: 1.02, OK: true}, "-5.0 % to +2.0 %"}} {
		test.Corrected = tc.corrected
		if estimate, got := gateFigure(test); estimate != "-1.0 %" || got != tc.want {
			t.Errorf("corrected %+v: got %s, %s, want -1.0 %%, %s", tc.corrected, estimate, got, tc.want)
		}
	}
	if got, want := gateReps(test), "20/18 (1 infinite, 2 unknown)"; got != want {
		t.Errorf("repetitions: got %q, want %q", got, want)
	}
}
