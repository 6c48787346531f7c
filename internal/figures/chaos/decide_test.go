package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/figure"
	"lockbench/results"
)

func TestTimes(t *testing.T) {
	ran, gone := "redis/redis/none/careful safe safe", "redis/redis/none/careful skipped safe"
	for _, c := range []struct {
		name     string
		o        outcome
		cell     string
		estimate time.Duration
		want     string
	}{
		{"good", outcome{wall: 80 * time.Second}, ran, 100 * time.Second, "figure chaos-default-time 80 s target <= 120 ok; figure chaos-plan-estimate 1.25 ratio target <= 2 ok"},
		{"slow", outcome{wall: 125 * time.Second}, ran, 50 * time.Second, "figure chaos-default-time 125 s target <= 120 short; figure chaos-plan-estimate 2.5 ratio target <= 2 short"},
		{"fast, but wrong", outcome{wall: 20 * time.Second, code: 5, stderr: "note: unknown: a/b/c/d"}, ran, 40 * time.Second,
			"figure chaos-default-time (exit code 5 after 20 s: note: unknown: a/b/c/d) s target <= 120 short; figure chaos-plan-estimate 2 ratio target <= 2 ok"},
		{"no estimate", outcome{wall: 20 * time.Second}, ran, 0, "figure chaos-default-time 20 s target <= 120 ok; figure chaos-plan-estimate +Inf ratio target <= 2 short"},
		{"no server", outcome{wall: 20 * time.Second}, gone, 20 * time.Second, "figure chaos-default-time (after 20 s 1 cells could not be run: redis/redis/none/careful) s target <= 120 short; " +
			"figure chaos-plan-estimate (after 20 s 1 cells could not be run: redis/redis/none/careful) ratio target <= 2 short"},
	} {
		c.o.chaos = reports(t, verdicts(t, c.cell))[0]
		p := plan{Cells: []planned{{cell: cell{"redis", "redis", "none", "careful"}}, {cell: cell{"redis", "redis", "quorum-loss", "careful"}, Skip: "one server"}}, EstimateNS: int64(c.estimate)}
		got := timeFigures(c.o, p, groups()[0].targets)
		if line(got, nil) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, line(got, nil), c.want)
		}
		if c.cell == ran {
			if n := noted(t, got, "chaos-plan-estimate-over-measured"); n != c.estimate.Seconds()/c.o.wall.Seconds() {
				t.Errorf("%s: the estimate over the measured time: got %v", c.name, n)
			}
		}
	}
}

// TestFew: long lists and long reasons are cut.
func TestFew(t *testing.T) {
	c := cell{"a", "b", "c", "d"}
	for n, want := range map[int]string{0: "", 1: "a/b/c/d", 3: "a/b/c/d, a/b/c/d, a/b/c/d", 5: "a/b/c/d, a/b/c/d, a/b/c/d, 2 more"} {
		if got := few(slices.Repeat([]cell{c}, n)); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	for reason, want := range map[string]string{"": "skipped", "no": "skipped: no", strings.Repeat("ä", 200): "skipped: " + strings.Repeat("ä", 200),
		strings.Repeat("ä", 201): "skipped: " + strings.Repeat("ä", 200) + " ..."} {
		if got := why(&results.ChaosVerdict{Verdict: "skipped", Reason: reason}); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
}

// late is a run of the cell of recovery.
func late(t *testing.T, p50, p99 float64, count int) []*results.ChaosVerdict {
	v := verdict(t, recoveryCell.String()+" safe safe")
	v.Rounds, v.Felt, v.Probative = count, count, count
	v.PastDeadline = &results.Timing{Count: count, P50: p50, Max: max(p50, p99)}
	if count >= leastRecovery {
		v.PastDeadline.P99 = &p99
	}
	return []*results.ChaosVerdict{goodControl, v}
}

func TestRecovery(t *testing.T) {
	six := func(p50 float64) (out [][]*results.ChaosVerdict) {
		for i := range 6 {
			out = append(out, late(t, p50+float64(i)/10, 9+float64(i), 100))
		}
		return out
	}
	none := late(t, 1, 2, 100)
	none[1].PastDeadline = nil
	other := verdicts(t, "control-ttl/loopback/holder-kill/careless safe safe")
	for _, c := range []struct {
		name string
		runs [][]*results.ChaosVerdict
		want string
	}{
		{"good", six(1), "figure chaos-recovery-error 1.25 ms target <= 5 ok"},
		{"the interval reaches beyond", six(4.7), "figure chaos-recovery-error 4.95 ms target <= 5 short"},
		{"before the deadline", six(-50), "figure chaos-recovery-error 49.75 ms target <= 5 short"},
		{"one run", six(1)[:1], "figure chaos-recovery-error (1 measurements have no 95 % interval) ms target <= 5 short"},
		{"few rounds", [][]*results.ChaosVerdict{late(t, 1, 2, 99)}, "error: run 1: 99 rounds have a grant after the deadline, 100 are wanted"},
		{"nothing measured", [][]*results.ChaosVerdict{none}, "error: run 1: 0 rounds have a grant after the deadline, 100 are wanted"},
		{"another cell", [][]*results.ChaosVerdict{other}, "error: run 1: there is no verdict of control-ttl/loopback/holder-kill/careful"},
		{"not safe", append(six(1), verdicts(t, recoveryCell.String()+" unknown safe")), "error: run 7: control-ttl/loopback/holder-kill/careful is unknown: 4 of 10 rounds counted"},
		{"a control failed", [][]*results.ChaosVerdict{append(late(t, 1, 2, 100), badControl)}, "error: run 1: controls failed: control-naive/loopback/stale-unlock/careful is safe, not unsafe"},
	} {
		got, err := recoveryFigures(reports(t, c.runs...), target(t, "chaos-recovery-error"))
		if line(got, err) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, line(got, err), c.want)
		}
		if c.name == "good" && (noted(t, got, "chaos-recovery-error-p99") != 14 || !remarked(got, "600 rounds in 6 runs")) {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}

func TestNone(t *testing.T) {
	const a, b = "redis/redis/none/careful safe safe", "etcd/etcd-3/none/careless"
	for _, c := range []struct {
		name, want, remark string
		cells              []*results.ChaosVerdict
	}{
		{"good", "figure chaos-none-unsafe 0 rounds target <= 0 ok", "20 good rounds show, at 95 %, that at most 14 % are bad", verdicts(t, a, b+" safe safe")},
		{"a false alarm", "figure chaos-none-unsafe 10 rounds target <= 0 short", "etcd/etcd-3/none/careless is unsafe: both wrote", verdicts(t, a, b+" unsafe safe")},
		{"no verdict", "figure chaos-none-unsafe (no bad round in 14, but no verdict of etcd/etcd-3/none/careless) rounds target <= 0 short", "is unknown: 4 of 10", verdicts(t, a, b+" unknown safe")},
		{"nothing", "figure chaos-none-unsafe (no round counted) rounds target <= 0 short", "is skipped: it cannot be", verdicts(t, b+" skipped")},
		{"a control failed", "error: controls failed: control-naive/loopback/stale-unlock/careful is safe, not unsafe", "", append(verdicts(t, a), badControl)},
	} {
		got, err := noneFigures(reports(t, c.cells)[0], target(t, "chaos-none-unsafe"))
		if line(got, err) != c.want || !remarked(got, c.remark) {
			t.Errorf("%s: got %s, %q, want %s, %q", c.name, line(got, err), got.Remarks, c.want, c.remark)
		}
	}
}

func TestDangerous(t *testing.T) {
	cells, faults := dangerous(plan{Cells: []planned{
		{cell{"redis", "redis", "none", "careful"}, "safe", ""},
		{cell{"redis", "redis", "holder-pause", "careful"}, "safe-with-fence", ""},
		{cell{"redis", "redis", "holder-pause", "careless"}, "safe-with-fence", ""},
		{cell{"redis", "redis", "holder-cutoff", "careful"}, "unsafe", ""},
		{cell{"redis", "redis", "holder-cutoff", "careless"}, "unsafe", ""},
		{cell{"redis", "redis", "holder-vanish", "careless"}, "unsafe", "no iptables"},
		{cell{"redis", "redis", "quorum-loss", "careful"}, "skipped", "one server"},
	}})
	if len(cells) != 3 || !slices.Equal(faults, []string{"holder-pause", "holder-cutoff"}) || cells[2].String() != "redis/redis/holder-cutoff/careless" {
		t.Errorf("got %v, %q", cells, faults)
	}
}

func TestRepeat(t *testing.T) {
	pause, kill := cell{"redis", "redis", "holder-pause", "careless"}, cell{"redis", "redis", "server-kill", "careful"}
	both := func(a, b string) []*results.ChaosVerdict {
		return verdicts(t, pause.String()+" "+a+" safe-with-fence", kill.String()+" "+b+" unsafe", "redis/redis/server-kill/careless safe safe")
	}
	known := both("safe-with-fence", "safe")
	known[2].Known = true
	for _, c := range []struct {
		name, want, remark string
		runs               [][]*results.ChaosVerdict
	}{
		{"each time", "figure chaos-repeat-redis 100 pct target >= 100 ok", "redis: 2 of 2 cells as expected in 2 of 2 repetitions",
			[][]*results.ChaosVerdict{both("safe-with-fence", "unsafe"), both("safe-with-fence", "unsafe")}},
		{"once not", "figure chaos-repeat-redis 50 pct target >= 100 short", "redis/redis/server-kill/careful: as expected in 1 of 2; else safe",
			[][]*results.ChaosVerdict{both("safe-with-fence", "unsafe"), both("safe-with-fence", "safe")}},
		{"unknown", "figure chaos-repeat-redis 50 pct target >= 100 short", "holder-pause/careless: as expected in 0 of 1; else unknown: 4 of 10",
			[][]*results.ChaosVerdict{both("unknown", "unsafe")}},
		{"worse than expected", "figure chaos-repeat-redis 50 pct target >= 100 short", "else unsafe: both wrote", [][]*results.ChaosVerdict{both("unsafe", "unsafe")}},
		{"a known difference", "figure chaos-repeat-redis 100 pct target >= 100 ok", "2 of 2 cells", [][]*results.ChaosVerdict{known}},
		{"missing", "figure chaos-repeat-redis 50 pct target >= 100 short", "as expected in 0 of 1; else no verdict", [][]*results.ChaosVerdict{both("safe-with-fence", "unsafe")[:2]}},
		{"a control failed", "figure chaos-repeat-redis 0 pct target >= 100 short", "repetition 2: controls failed",
			[][]*results.ChaosVerdict{both("safe-with-fence", "unsafe"), append(both("safe-with-fence", "unsafe"), badControl)}},
	} {
		got := repeatFigure(reports(t, c.runs...), []cell{pause, kill}, target(t, "chaos-repeat-redis")[0])
		if line(got, nil) != c.want || !remarked(got, c.remark) {
			t.Errorf("%s: got %s, %q, want %s, %q", c.name, line(got, nil), got.Remarks, c.want, c.remark)
		}
	}
	if l := least(10); l < 0.741 || l > 0.742 {
		t.Errorf("10 of 10 show at least %v", l)
	}
}

func TestAgree(t *testing.T) {
	const good, worse, better = "redis/redis/none/careful safe safe", "redis/redis/holder-kill/careful unsafe safe", "etcd/etcd-3/holder-pause/careless safe safe-with-fence"
	known := verdict(t, worse)
	known.Known = true
	mixed := append(verdicts(t, good, better, "etcd/etcd-3/leader-kill/careful unknown safe", "mutex/in-process/panic/plain safe", "null/in-process/panic/plain unsafe",
		"redis/redis/quorum-loss/careful skipped"), known)
	whole := func(cells ...cell) (p plan) {
		for _, c := range cells {
			p.Cells = append(p.Cells, planned{cell: c})
		}
		return p
	}
	first := cell{"redis", "redis", "none", "careful"}
	for _, c := range []struct {
		name, want, remark string
		runs               [][]*results.ChaosVerdict
		plan               plan
	}{
		{"good", "figure chaos-agree 0 cells target <= 0 ok", "", [][]*results.ChaosVerdict{verdicts(t, good)}, whole(first)},
		{"known", "figure chaos-agree 0 cells target <= 0 ok", "", [][]*results.ChaosVerdict{{goodControl, known}}, plan{}},
		{"worse", "figure chaos-agree 1 cells target <= 0 short", "redis/redis/holder-kill/careful, expected safe, is unsafe: both wrote", [][]*results.ChaosVerdict{verdicts(t, good, worse)}, whole(first)},
		{"better", "figure chaos-agree 1 cells target <= 0 short", "holder-pause/careless, expected safe-with-fence, is safe", [][]*results.ChaosVerdict{verdicts(t, good), verdicts(t, better)}, whole(first)},
		{"all kinds", "figure chaos-agree 3 cells target <= 0 short", "null/in-process/panic/plain, expected nothing, is unsafe: both wrote", [][]*results.ChaosVerdict{mixed}, whole(first)},
		{"a part of a run", "figure chaos-agree (no whole run: 1 cells could not be run or have no record: etcd/etcd-3/none/careful) cells target <= 0 short", "",
			[][]*results.ChaosVerdict{verdicts(t, good)}, whole(first, cell{"etcd", "etcd-3", "none", "careful"})},
		{"no server", "figure chaos-agree (no whole run: 1 cells could not be run or have no record: etcd/etcd-3/none/careful) cells target <= 0 short", "",
			[][]*results.ChaosVerdict{verdicts(t, good, "etcd/etcd-3/none/careful skipped safe")}, whole(first, cell{"etcd", "etcd-3", "none", "careful"})},
		{"nothing", "error: no cell was run", "", [][]*results.ChaosVerdict{verdicts(t, "redis/redis/quorum-loss/careful skipped")}, plan{}},
		{"a control failed", "error: run run-1: controls failed: control-naive/loopback/stale-unlock/careful is safe, not unsafe", "",
			[][]*results.ChaosVerdict{verdicts(t, good), append(verdicts(t, good), badControl)}, whole(first)},
	} {
		got, err := agreeFigures(reports(t, c.runs...), c.plan, target(t, "chaos-agree"))
		if line(got, err) != c.want || !remarked(got, c.remark) {
			t.Errorf("%s: got %s, %q, want %s, %q", c.name, line(got, err), got.Remarks, c.want, c.remark)
		}
		if c.name == "all kinds" {
			checkCounts(t, got, map[string]float64{"run": 6, "agreeing": 1, "known": 1, "differing": 2, "unknown": 1, "without-theory": 1, "skipped": 1, "missing": 0})
		}
	}
}

func checkCounts(t *testing.T, r figure.Report, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if got := noted(t, r, "chaos-agree-"+name); got != n {
			t.Errorf("%s: got %v, want %v", name, got, n)
		}
	}
}

func TestRemarks(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"lockbench: redis: started\nlockbench: error: worse than expected: a\nlockbench: note: unknown: b\n", "error: worse than expected: a; note: unknown: b"},
		{"panic: no\n", "panic: no"},
		{"", ""},
	} {
		if got := remarks(c.stderr); got != strings.TrimSpace(c.want) {
			t.Errorf("%q: got %q, want %q", c.stderr, got, c.want)
		}
	}
}
