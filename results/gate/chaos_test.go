package gate

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/results"
)

var someFaults = []string{"none", "holder-kill", "holder-pause", "server-kill", "server-pause", "leader-kill"}

func TestChaosRules(t *testing.T) {
	b, err := os.ReadFile("testdata/rules/chaos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRules("chaos.yaml", b, someFaults...)
	if err != nil {
		t.Fatal(err)
	}
	want := []ChaosRule{
		{Name: "fault=holder-kill/lock=etcd,zookeeper/policy=careful: safe, longest recovery at most 1.3 x TTL, at least 10 rounds", Fault: []string{"holder-kill"},
			Lock: []string{"etcd", "zookeeper"}, Policy: []string{"careful"}, Verdicts: []string{"safe"}, MinRounds: 10, Line: 2, Column: 5,
			RecoveryMax: &TimeLimit{Factor: 1.3, Of: "TTL", Text: "1.3 x TTL"}},
		{Name: "pauses", Fault: []string{"holder-pause", "server-*"}, Topology: []string{"redis*"}, Verdicts: []string{"safe", "safe-with-fence"},
			RecoveryP50: &TimeLimit{MS: 2500, Text: "2500 ms"}, Line: 8, Column: 5},
		{Name: "*: longest recovery at most 1 x bound", RecoveryMax: &TimeLimit{Factor: 1, Of: "bound", Text: "1 x bound"}, Line: 13, Column: 5},
	}
	if diff := cmp.Diff(want, got.Chaos); diff != "" {
		t.Errorf("demands (-want +got):\n%s", diff)
	}
}

func TestChaosRulesRefused(t *testing.T) {
	for _, tc := range []struct{ in, want, hint string }{
		{"chaos: []", "an empty list", "would pass anything"},
		{"chaos: {fault: none}", "want a list", `"- "`},
		{"chaos:\n  - fault: holder-kil\n    verdict: safe", `r.yaml:2:12: unknown fault "holder-kil"`, "did you mean holder-kill"},
		{"chaos:\n  - fault: network-*\n    verdict: safe", `unknown fault "network-*"`, "lockbench list faults"},
		{"chaos:\n  - falt: none", `unknown key "falt"`, "did you mean fault"},
		{"chaos:\n  - fault: none", "a demand without verdict", "verdict: safe"},
		{"chaos:\n  - verdict: saef", `verdict: "saef" is none`, "did you mean safe"},
		{"chaos:\n  - verdict: unknown", "unknown cannot be demanded", "never a pass"},
		{"chaos:\n  - verdict: [safe, skipped]", "skipped cannot be demanded", "never a pass"},
		{"chaos:\n  - verdict: []", "an empty list", "any verdict"},
		{"chaos:\n  - recovery_max: fast", `recovery_max: "fast": want a time or a multiple`, "1 x bound"},
		{"chaos:\n  - recovery_max: 5", `want a time or a multiple`, "1 x bound"},
		{"chaos:\n  - recovery_max: 1.3 x RTT", `want a time or a multiple`, "1 x bound"},
		{"chaos:\n  - recovery_max: 0s", "more than 0", "unit"},
		{"chaos:\n  - recovery_max: -5s", "more than 0", "unit"},
		{"chaos:\n  - recovery_p50: 5000s", "at most an hour", "unit"},
		{"chaos:\n  - recovery_max: 2000 x TTL", "a factor above 0", "TTL is"},
		{"chaos:\n  - recovery_max: nan x TTL", "want", "TTL is"},
		{"chaos:\n  - min_rounds: 0", `min_rounds: "0": want a whole number`, "such as 10"},
		{"chaos:\n  - min_rounds: 1.5", `want a whole number`, "such as 10"},
		{"chaos:\n  - {name: x, verdict: safe}\n  - {name: x, verdict: unsafe}", `a second demand named "x"`, "line 2"},
		{"chaos:\n  - {name: ' ', verdict: safe}", "name: it is empty", "leave the key out"},
		{"chaos:\n  - verdict: safe\nrules:\n  - {metric: throughput_ops_s, max-regression: 5%}", "both rules and chaos", "two gates"},
		{"alpha: 0.1\nchaos:\n  - verdict: safe", "alpha goes with rules", "min_rounds"},
	} {
		_, err := ParseRules("r.yaml", []byte(tc.in), someFaults...)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "r.yaml:") || !strings.Contains(err.Error(), tc.want) || !strings.Contains(e.Hint(), tc.hint) {
			hint := ""
			if e != nil {
				hint = e.Hint()
			}
			t.Errorf("%q:\n got %v\nhint %q\nwant %s\nhint %s", tc.in, err, hint, tc.want, tc.hint)
		}
	}
	if _, err := ParseRules("r.yaml", []byte("chaos:\n  - {fault: whatever, verdict: safe}")); err != nil {
		t.Errorf("without known faults: %v", err)
	}
}

// chaosRun is a run of a holding control and some cells.
func chaosRun(edit func(byName map[string]*results.ChaosVerdict) (more []results.Record)) *results.Report {
	cells := map[string]*results.ChaosVerdict{}
	var order []string
	add := func(lock, fault, verdict string, max float64) {
		v := &results.ChaosVerdict{Lock: lock, Topology: lock + "-3", Fault: fault, On: "holder", Policy: "careful", TTLMS: 2000, Rounds: 12, Felt: 12, Probative: 10,
			Verdict: verdict, Expected: verdict, Agrees: true, Recovery: &results.Timing{Count: 10, P50: max - 500, Max: max}}
		if verdict != results.VerdictSafe {
			v.Bad = 10
		}
		cells[lock+"/"+fault] = v
		order = append(order, lock+"/"+fault)
	}
	add("control-naive", "stale-unlock", results.VerdictUnsafe, 600)
	add("etcd", "holder-kill", results.VerdictSafe, 2500)
	add("etcd", "holder-pause", results.VerdictFence, 2500)
	add("redis", "holder-kill", results.VerdictSafe, 2700)
	cells["control-naive/stale-unlock"].Control = true
	bound := 2600.0
	cells["redis/holder-kill"].BoundMS = &bound
	more := edit(cells)
	b := results.NewBuilder()
	recs := []results.Record{{Run: &results.Run{RunID: "r"}}}
	for _, name := range order {
		if cells[name] != nil {
			recs = append(recs, results.Record{Verdict: cells[name]})
		}
	}
	for _, rec := range append(recs, more...) {
		if err := b.Add("chaos.jsonl", rec); err != nil {
			panic(err) // the file is made here
		}
	}
	return b.Report()
}

func TestChaosDecides(t *testing.T) {
	type cells = map[string]*results.ChaosVerdict
	same := func(cells) []results.Record { return nil }
	for _, tc := range []struct {
		name    string
		demand  string
		edit    func(cells) []results.Record
		want    Verdict
		reasons []string // of the tests and findings, in part
	}{
		{"passes", "{lock: etcd, fault: holder-kill, verdict: safe, recovery_max: 1.3 x TTL, min_rounds: 10}", same, Pass,
			[]string{"safe in 10 rounds; longest recovery 2.50 s, within 1.3 x TTL = 2.60 s; 10 rounds prove something"}},
		{"at the limit", "{lock: etcd, fault: holder-kill, recovery_max: 2500ms}", same, Pass, []string{"within 2.50 s"}},
		{"too late", "{lock: redis, recovery_max: 1.3 x TTL}", same, Fail, []string{"longest recovery 2.70 s, beyond 1.3 x TTL = 2.60 s"}},
		{"the median is not", "{lock: redis, recovery_p50: 1.3 x TTL}", same, Pass, []string{"median recovery 2.20 s"}},
		{"beyond theory", "{lock: redis, recovery_max: 1 x bound}", same, Fail, []string{"beyond 1 x bound = 2.60 s"}},
		{"theory knows no bound", "{lock: etcd, fault: holder-kill, recovery_max: 1 x bound}", same, Inconclusive, []string{"etcd has no bound"}},
		{"no TTL", "{lock: etcd, fault: holder-kill, recovery_max: 1 x TTL}", func(c cells) []results.Record { c["etcd/holder-kill"].TTLMS = 0; return nil }, Inconclusive, []string{"etcd has no TTL"}},
		{"no recovery", "{lock: etcd, fault: holder-kill, verdict: safe, recovery_max: 1s}", func(c cells) []results.Record { c["etcd/holder-kill"].Recovery = nil; return nil }, Inconclusive,
			[]string{"no recovery was measured"}},
		{"another verdict", "{lock: etcd, verdict: safe}", same, Fail, []string{"safe in 10 rounds", "safe-with-fence in 10 of 12 rounds, demanded: safe"}},
		{"a list", "{lock: etcd, verdict: [safe, safe-with-fence]}", same, Pass, []string{"safe in", "safe-with-fence in"}},
		{"better than demanded", "{lock: redis, verdict: unsafe}", same, Fail, []string{"safe in 10 rounds, demanded: unsafe"}},
		{"too few rounds", "{lock: redis, verdict: safe, min_rounds: 20}", same, Inconclusive, []string{"10 rounds prove something, demanded: 20"}},
		{"a failure beats too few rounds", "{lock: redis, verdict: unsafe, min_rounds: 20}", same, Fail, []string{"demanded: unsafe; 10 rounds"}},
		{"unknown", "{lock: redis, recovery_max: 9s}", func(c cells) []results.Record {
			c["redis/holder-kill"].Verdict, c["redis/holder-kill"].Reason = results.VerdictUnknown, "3 of 10 rounds"
			return nil
		}, Inconclusive, []string{"unknown: 3 of 10 rounds"}},
		{"skipped", "{lock: redis, verdict: safe}", func(c cells) []results.Record {
			c["redis/holder-kill"].Verdict, c["redis/holder-kill"].Reason = results.VerdictSkipped, "no Docker"
			return nil
		}, Inconclusive, []string{"skipped: no Docker"}},
		{"not run", "{lock: redis, fault: holder-pause, verdict: safe}", same, Inconclusive, []string{"not together"}},
		{"a lock that is not there", "{lock: redus, verdict: safe}", same, Inconclusive, []string{"no lock is redus, did you mean redis"}},
		{"a policy that is not there", "{policy: careless, verdict: safe}", same, Inconclusive, []string{"no policy is careless; there are: careful"}},
		{"one of two locks", "{lock: 'redis, zookeeper', fault: holder-kill, verdict: safe}", same, Inconclusive,
			[]string{"safe in 10", "no cell of lock zookeeper and fault holder-kill is meant"}},
		{"one of two faults", "{lock: [redis, etcd], fault: [holder-kill, holder-pause], verdict: [safe, safe-with-fence]}", same, Inconclusive,
			[]string{"safe in", "safe-with-fence in", "safe in", "no cell of lock redis and fault holder-pause is meant"}},
		{"one of two policies", "{lock: redis, policy: [careful, careless], verdict: safe}", same, Inconclusive, []string{"safe in", "no cell of policy careless is meant"}},
		{"one of two topologies", "{lock: redis, topology: [redis-3, redis-aof], verdict: safe}", same, Inconclusive, []string{"safe in", "no cell of topology redis-aof is meant"}},
		{"controls are meant by name", "{lock: 'control-*', verdict: unsafe}", same, Inconclusive, []string{"not together"}},
		{"a control by name", "{lock: control-naive, verdict: unsafe}", same, Pass, []string{"unsafe in 10 of 12"}},
		{"a failed control", "{lock: redis, verdict: safe}", func(c cells) []results.Record {
			v := c["control-naive/stale-unlock"]
			v.Verdict, v.Agrees, v.Bad = results.VerdictSafe, false, 0
			c["etcd/holder-kill"].Verdict, c["etcd/holder-kill"].Bad = results.VerdictUnsafe, 1 // which counts as little
			return nil
		}, Inconclusive, []string{"the control failed: it must be unsafe, and was safe", "a control failed"}},
		{"no control", "{lock: redis, verdict: safe}", func(c cells) []results.Record { delete(c, "control-naive/stale-unlock"); return nil }, Inconclusive,
			[]string{"no control was run", "no control was run"}},
		{"in one process there is no control", "{lock: mutex, verdict: safe}", func(c cells) []results.Record {
			clear(c)
			return []results.Record{{Verdict: &results.ChaosVerdict{Lock: "mutex", Fault: "panic-in-section", On: "process", Policy: "plain", Verdict: results.VerdictSafe, Rounds: 1, Probative: 1}}}
		}, Pass, []string{"safe in 1 round"}},
		{"worse than expected", "{lock: redis, verdict: safe}", func(c cells) []results.Record {
			c["etcd/holder-kill"].Verdict, c["etcd/holder-kill"].Bad = results.VerdictUnsafe, 1
			return nil
		}, Violation, []string{"worse than expected: unsafe in 1 of 12 rounds, and safe was expected", "safe in 10 rounds"}},
		{"interrupted", "{lock: redis, verdict: safe}", func(cells) []results.Record {
			return []results.Record{{Event: &results.Event{Kind: results.EventInterrupted}}}
		}, Inconclusive, []string{"the run was interrupted", "safe in"}},
	} {
		rules, err := ParseRules("r.yaml", []byte("chaos:\n  - "+tc.demand))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		res, err := Chaos(rules, chaosRun(tc.edit))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, f := range res.Always {
			got = append(got, f.Text)
		}
		for _, test := range res.Tests {
			got = append(got, test.Reason)
		}
		ok := len(got) == len(tc.reasons)
		for i := range got {
			ok = ok && strings.Contains(got[i], tc.reasons[i])
		}
		if res.Verdict != tc.want || !ok {
			t.Errorf("%s: %s:\n got %s %q\nwant %s %q", tc.name, tc.demand, res.Verdict, got, tc.want, tc.reasons)
		}
	}
}

// TestChaosBetter: theory that is proved wrong in the good direction is told, and fails nothing.
func TestChaosBetter(t *testing.T) {
	rules, err := ParseRules("r.yaml", []byte("chaos:\n  - {lock: etcd, verdict: [safe, safe-with-fence]}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Chaos(rules, chaosRun(func(c map[string]*results.ChaosVerdict) []results.Record {
		c["etcd/holder-pause"].Expected = results.VerdictUnsafe
		return nil
	}))
	if err != nil || res.Verdict != Pass || !slices.ContainsFunc(res.Notes, func(n string) bool { return strings.Contains(n, "better than expected") }) {
		t.Errorf("got %s, notes %q, error %v; want a pass with a note", res.Verdict, res.Notes, err)
	}
}

func TestChaosGateRefuses(t *testing.T) {
	demands := &Rules{File: "r.yaml", Chaos: []ChaosRule{{Verdicts: []string{"safe"}}}}
	run := func(id string) results.Record { return results.Record{Run: &results.Run{RunID: id}} }
	for _, tc := range []struct {
		rules *Rules
		recs  []results.Record
		want  string
	}{
		{&Rules{File: "r.yaml"}, []results.Record{run("a")}, "no demands on chaos"},
		{demands, []results.Record{run("a")}, "no verdicts of faults"},
		{demands, []results.Record{run("a"), run("b")}, "2 runs, where a gate wants one"},
	} {
		b := results.NewBuilder()
		for _, rec := range tc.recs {
			if err := b.Add("f", rec); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Chaos(tc.rules, b.Report())
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tc.want) || e.Hint() == "" {
			t.Errorf("got %v, want %q with a hint", err, tc.want)
		}
	}
}
