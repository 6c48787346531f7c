package gate

import (
	"strings"
	"testing"

	"lockbench/results"
	"lockbench/results/compare"
)

// missing makes a repetition one of a distributed lock, of which so many operations of
// 100 got no lock in time.
func missing(s *results.Sample, timeouts int64) {
	s.Ops, s.Dispatch = 100-timeouts, results.DispatchRemote
	commands := 2.0
	s.Remote = &results.Remote{Service: "redis", Topology: "redis", Timeouts: timeouts, Commands: &commands}
}

// TestGivingUpSoonerIsNoPass: a build whose operations get no lock in time more often has
// no verdict, unless a rule about that decides.
func TestGivingUpSoonerIsNoPass(t *testing.T) {
	share := "rules: [{metric: timeouts_pct, limit: 90%}, {metric: throughput_ops_s, max-regression: 5%}]"
	for _, tc := range []struct {
		name     string
		rules    string
		old, new func(rep int) int64
		want     Verdict
		finding  string
	}{
		{"none", fivePercent, fixed(0), fixed(0), Pass, ""},
		{"as many", fivePercent, fixed(30), fixed(30), Pass, ""},
		{"fewer", fivePercent, fixed(30), fixed(5), Pass, ""},
		{"by chance", fivePercent, func(r int) int64 { return int64(r%2) * 3 }, func(r int) int64 { return int64(1-r%2) * 3 }, Pass, ""},
		{"more", fivePercent, fixed(5), fixed(30), Inconclusive, "in 16 of 16 repetitions of the new side, a smaller one in 0"},
		{"more in some", fivePercent, fixed(0), func(r int) int64 { return int64(r % 2) }, Inconclusive, "in 8 of 16 repetitions"},
		{"more, which a rule allows", share, fixed(5), fixed(30), Pass, ""},
		{"more than a rule allows", share, fixed(5), fixed(95), Fail, ""},
	} {
		c := cellOf("redis")
		g, _ := live(t, parse(t, tc.rules), []Cell{c}, 16, func(Cell) float64 { return 1 }, func(s *results.Sample) bool {
			n := tc.old(s.Rep)
			if s.Side == results.SideNew {
				n = tc.new(s.Rep)
			}
			missing(s, n)
			return true
		})
		res := g.Result()
		text := ""
		for _, f := range res.Safety {
			text += f.String()
		}
		if res.Verdict != tc.want || (text == "") != (tc.finding == "") || !strings.Contains(text, tc.finding) {
			t.Errorf("%s: got %s, %q, want %s, %q", tc.name, res.Verdict, text, tc.want, tc.finding)
		}
	}
}

func fixed(n int64) func(int) int64 { return func(int) int64 { return n } }

// TestDistributedFiles: of two files there is no control of the servers; limits hold, and
// so do the rules that are always on.
func TestDistributedFiles(t *testing.T) {
	mk := func(id string, timeouts int64, outcome string) *compare.Side {
		b := results.NewBuilder()
		host := map[string]any{"os": "linux", "cpu_model": "CPU"}
		records := []results.Record{{Type: results.TypeRun, Run: &results.Run{RunID: id, Reps: 20, Host: host}}}
		for _, lock := range []string{"null-lease", "redis"} {
			for rep := range 20 {
				s := half(cellOf(lock), "", rep, 1000+float64(rep))
				s.Threads, s.Clients, s.Control = "free", 1, lock == "null-lease"
				missing(s, timeouts)
				if rep == 3 && lock == "redis" && outcome != "" {
					s.Outcome, s.Violations = outcome, 1
				}
				records = append(records, results.Record{Type: results.TypeSample, Sample: s})
			}
		}
		for _, r := range records {
			if err := b.Add(id+".jsonl", r); err != nil {
				t.Fatal(err)
			}
		}
		return &compare.Side{Label: id, Report: b.Report()}
	}
	relative, limit := "rules: [{lock: redis, metric: commands_per_acquire, max-regression: 5%}]", "rules: [{lock: redis, metric: commands_per_acquire, limit: 3}]"
	for _, tc := range []struct {
		name, rules string
		new         *compare.Side
		want        Verdict
		text        string // in the test's reason, or a finding
	}{
		{"relative", relative, mk("b", 0, ""), Inconclusive, "tells a change of its servers"},
		{"a limit", limit, mk("b", 0, ""), Pass, "within"},
		{"a violation", limit, mk("b", 0, results.OutcomeViolation), Violation, "violation in 1 of 20"},
		{"a hang", limit, mk("b", 0, results.OutcomeHang), Violation, "hang in 1 of 20"},
		{"time-outs", limit, mk("b", 10, ""), Inconclusive, "got no lock in time in 20 of 20"},
	} {
		res, err := Files(parse(t, tc.rules), mk("a", 0, ""), tc.new)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		text := res.Tests[0].Reason
		for _, f := range res.Safety {
			text += "; " + f.String()
		}
		if res.Verdict != tc.want || !strings.Contains(text, tc.text) {
			t.Errorf("%s: got %s, %q, want %s, %q", tc.name, res.Verdict, text, tc.want, tc.text)
		}
	}
}

// TestRulesOfRemoteMetrics: rules know the new metrics, their units and directions.
func TestRulesOfRemoteMetrics(t *testing.T) {
	for _, rule := range []string{
		"{metric: release_p50_ns, limit: 2ms}", "{metric: release_p99_ns, max-regression: 10%}", "{metric: round_trips_per_acquire, limit: 1.5}",
		"{metric: handoff_round_trips, limit: 3}", "{metric: commands_per_acquire, max-regression: 5%}", "{metric: attempts_per_acquire, limit: 2}",
		"{metric: server_cpu_ns_per_op, limit: 100us}", "{metric: timeouts_pct, limit: 1%}", "{metric: lost_leases, limit: 0.5}",
		"{metric: orphans, limit: 3}", "{metric: deadlocks, limit: 0.5}",
	} {
		rs, err := ParseRules("r", []byte("rules: ["+rule+"]"))
		if err != nil || rs.List[0].Metric.Better != results.Lower {
			t.Errorf("%s: %+v, %v", rule, rs, err)
		}
	}
}
