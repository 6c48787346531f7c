package gate

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/results"
)

func TestParseRules(t *testing.T) {
	rs, err := ParseRules("rules.yaml", []byte(`
alpha: 0.02
rules:
  - name: load
    lock: "mcs*, ticket"
    workload: [moderate, high]
    workers: 4
    metric: throughput_ops_s
    max-regression: 5%
  - metric: acquire_p99_ns
    limit: 1.5 ms
  - {lock: mutex, metric: jain, limit: 0.9}
  - {metric: throughput_ops_s, limit: 2.5M/s}
  - {metric: backlog_pct, limit: 1 %}
  - {metric: wall_ns_per_op, max-regression: 100%}
`))
	if err != nil {
		t.Fatal(err)
	}
	if rs.Alpha != 0.02 || rs.File != "rules.yaml" || len(rs.List) != 6 {
		t.Fatalf("got %+v", rs)
	}
	for i, want := range []struct {
		name, threshold string
		bound           float64
		line            int
	}{
		{"load", "at most 5 % lower", math.Log(0.95), 4},
		{"*: acquire_p99_ns at most 1.50 ms", "at most 1.50 ms", 1.5e6, 10},
		{"mutex: jain at least 0.9", "at least 0.9", 0.9, 12},
		{"*: throughput_ops_s at least 2.50 M/s", "at least 2.50 M/s", 2.5e6, 13},
		{"*: backlog_pct at most 1 %", "at most 1 %", 1, 14},
		{"*: wall_ns_per_op at most 100 % higher", "at most 100 % higher", math.Log(2), 15},
	} {
		r := rs.List[i]
		if r.Name != want.name || r.Threshold() != want.threshold || math.Abs(r.bound()-want.bound) > 1e-9 || r.Line != want.line {
			t.Errorf("rule %d: got %q, %q, %g, line %d, want %q, %q, %g, line %d", i, r.Name, r.Threshold(), r.bound(), r.Line,
				want.name, want.threshold, want.bound, want.line)
		}
	}
}

func TestParseRulesErrors(t *testing.T) {
	rule := func(s string) string { return "rules:\n  - {metric: throughput_ops_s, " + s + "}\n" }
	for _, tc := range []struct{ in, want, hint string }{
		{"", "r.yaml: the file has no rules", "a file of rules is YAML"},
		{"# nothing", "r.yaml: the file has no rules", "a file of rules is YAML"},
		{"alpha: 0.01", "r.yaml:1:1: the file has no rules", "a file of rules is YAML"},
		{"rules: []", "r.yaml:1:8: rules: an empty list", "would pass anything"},
		{"rules:", "r.yaml:1:", "for instance [a, b]"},
		{"rules: {metric: jain}", "r.yaml:1:8: rules: want a list", `begin each rule with "- "`},
		{"rules: [jain]", "r.yaml:1:9: a rule: want a map", "for instance metric: throughput_ops_s"},
		{"rules: [", "r.yaml:1:", "a file of rules is YAML"},
		{"ruels: []", `r.yaml:1:1: unknown key "ruels"`, "did you mean rules?"},
		{"alpha: 0\n" + rule("max-regression: 5%"), `r.yaml:1:8: alpha: "0": want a probability`, "such as 0.01"},
		{"alpha: 0.5\n" + rule("max-regression: 5%"), `r.yaml:1:8: alpha: "0.5"`, "such as 0.01"},
		{"alpha: .nan\n" + rule("max-regression: 5%"), `r.yaml:1:8: alpha: ".nan"`, "such as 0.01"},
		{"alpha: NaN\n" + rule("max-regression: 5%"), `r.yaml:1:8: alpha: "NaN"`, "such as 0.01"},
		{rule("max-regression: 5%") + "---\n" + rule("max-regression: 5%"), "r.yaml:4:1: a second document", "one gate"},
		{rule("max-regresion: 5%"), `r.yaml:2:32: unknown key "max-regresion"`, "did you mean max-regression?"},
		{rule("lock: a, lock: b, max-regression: 5%"), `mapping key "lock" already defined`, "YAML"},
		{"rules: [{max-regression: 5%}]", "r.yaml:1:9: a rule without a metric", "lockbench list metrics"},
		{"rules: [{metric: throughput, max-regression: 5%}]", `unknown metric "throughput"`, "throughput_ops_s"},
		{"rules: [{metric: coherence_ns, max-regression: 5%}]", "metric coherence_ns describes a cell", "with a direction"},
		{"rules: [{metric: coherence_ns, limit: 5ns}]", "metric coherence_ns describes a cell", "with a direction"},
		{rule("lock: a"), "r.yaml:2:5: a rule without max-regression or limit", "max-regression: 5%"},
		{rule("max-regression: 5%, limit: 1/s"), "both max-regression and limit", "two rules"},
		{rule("max-regression: 0%"), "at least 0.01 %", "allow what does not matter"},
		{rule("max-regression: -5%"), "at least 0.01 %", "allow what does not matter"},
		{rule("max-regression: 1e-30%"), "at least 0.01 %", "allow what does not matter"},
		{rule("max-regression: NaN%"), "want a percentage", "bad direction"},
		{rule("max-regression: Inf%"), "want a percentage", "bad direction"},
		{rule("max-regression: 1e999%"), "want a percentage", "bad direction"},
		{rule("max-regression: 0.05"), `max-regression: "0.05": want a percentage, such as 5%`, "bad direction"},
		{rule("max-regression: 2000%"), "at most 1000 %", "a limit"},
		{rule("max-regression: 100%"), "less than 100 %", "cannot lose more than all"},
		{rule("max-regression: [5%]"), "want one value", "YAML"},
		{rule("limit: 5us"), "want a rate, such as 2.5M/s", "unit of throughput_ops_s"},
		{rule("limit: 0/s"), "want more than 0", "2.5M/s"},
		{rule("limit: -1/s"), "want more than 0", "2.5M/s"},
		{rule("limit: 1e300G/s"), "want at most", "is the unit right?"},
		{"rules: [{metric: acquire_p99_ns, limit: 500}]", "want a time with a unit, such as 5us", "unit of acquire_p99_ns"},
		{"rules: [{metric: acquire_p99_ns, limit: 2000000s}]", "want at most", "is the unit right?"},
		{"rules: [{metric: backlog_pct, limit: 200%}]", "want at most 100 %", "is the unit right?"},
		{"rules: [{metric: jain, limit: 5%}]", "want a number without a unit, such as 0.9", "unit of jain"},
		{rule("lock: '[', max-regression: 5%"), `lock: bad pattern "["`, "patterns have"},
		{rule("lock: '', max-regression: 5%"), "lock: an empty name", "leave the key out"},
		{rule("lock: [], max-regression: 5%"), "lock: an empty list", "leave the key out"},
		{rule("name: ' ', max-regression: 5%"), "name: it is empty", "leave the key out"},
		{"rules:\n- {name: a, metric: jain, limit: 1}\n- {name: a, metric: rsd, limit: 1}", `r.yaml:3:3: a second rule named "a"`, "line 2"},
		{"rules:\n- {metric: jain, limit: 1}\n- {metric: jain, limit: 1}", "a second rule named", "line 2"},
		{strings.Repeat("#", MaxRulesFile+1), "r.yaml: the file is larger than", "YAML"},
	} {
		_, err := ParseRules("r.yaml", []byte(tc.in))
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "r.yaml:") || !strings.Contains(err.Error(), tc.want) || !strings.Contains(e.Hint(), tc.hint) {
			in := tc.in[:min(len(tc.in), 80)]
			hint := ""
			if e != nil {
				hint = e.Hint()
			}
			t.Errorf("%q:\n got %v\nhint %q\nwant %s\nhint %s", in, err, hint, tc.want, tc.hint)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		lock, workload, workers string
		cell                    Cell
		want                    bool
	}{
		{"", "", "", Cell{Lock: "mcs", Workload: "high", Workers: 2}, true},
		{"mcs*", "hi?h", "[24]", Cell{Lock: "mcs-park", Workload: "high", Workers: 4}, true},
		{"mcs*", "", "", Cell{Lock: "clh", Workers: 4}, false},
		{"mcs", "", "", Cell{Lock: "mcs-park", Workers: 4}, false},
		{"", "moderate", "", Cell{Lock: "mcs", Workload: "high"}, false},
		{"", "", "4", Cell{Lock: "mcs", Workers: 14}, false},
		{"", "", "1*", Cell{Lock: "mcs", Workers: 14}, true},
		{"*", "", "", Cell{Lock: "null", Control: true}, false},
		{"", "", "", Cell{Lock: "null", Control: true}, false},
		{"nul?", "", "", Cell{Lock: "null", Control: true}, false},
		{"null", "", "", Cell{Lock: "null", Control: true}, true},
	} {
		list := func(s string) []string {
			if s == "" {
				return nil
			}
			return []string{s}
		}
		r := Rule{Lock: list(tc.lock), Workload: list(tc.workload), Workers: list(tc.workers)}
		if got := r.Matches(tc.cell); got != tc.want {
			t.Errorf("lock %q, workload %q, workers %q on %+v: got %v, want %v", tc.lock, tc.workload, tc.workers, tc.cell, got, tc.want)
		}
	}
}

// FuzzRules holds the decoder to what ParseRules promises: no panic, and what
// it accepts has thresholds that can fail and names that are printable.
func FuzzRules(f *testing.F) {
	seeds, err := filepath.Glob("testdata/rules/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, s := range seeds {
		b, err := os.ReadFile(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rs, err := ParseRules("f.yaml", b)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Hint() == "" || rs != nil {
				t.Fatalf("error %v (%T), hint or rules missing", err, err)
			}
			return
		}
		if !(rs.Alpha > 0 && rs.Alpha < 0.5) || (len(rs.List) == 0) == (len(rs.Chaos) == 0) {
			t.Fatalf("alpha %g, %d rules, %d demands", rs.Alpha, len(rs.List), len(rs.Chaos))
		}
		for _, r := range rs.Chaos {
			if r.Demand() == "" || r.Name != results.Printable(r.Name) || r.Line < 1 {
				t.Fatalf("demand %+v", r)
			}
			for _, l := range []*TimeLimit{r.RecoveryMax, r.RecoveryP50} {
				if l != nil && (l.Of == "") != (l.MS > 0) || l != nil && (l.Of == "") == (l.Factor > 0) {
					t.Fatalf("limit %+v", l)
				}
			}
			r.Matches(&results.ChaosVerdict{Lock: "etcd", Fault: "none"})
		}
		names := map[string]bool{}
		for _, r := range rs.List {
			bound := r.bound()
			if math.IsNaN(bound) || math.IsInf(bound, 0) || bound == 0 || r.Metric.Better == results.Neither ||
				(r.MaxRegression > 0) == (r.Limit > 0) || r.Line < 1 {
				t.Fatalf("rule %+v: bound %g", r, bound)
			}
			if r.Name == "" || names[r.Name] || r.Name != results.Printable(r.Name) {
				t.Fatalf("name %q", r.Name)
			}
			names[r.Name] = true
			r.Matches(Cell{Lock: "mcs", Workload: "high", Workers: 2})
		}
	})
}
