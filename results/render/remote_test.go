package render

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"lockbench/internal/golden"
	"lockbench/results"
)

// distributed is a recorded run of locks on several servers, one of them on two
// topologies, and one of transfers that deadlock.
var distributed = []string{"testdata/remote.jsonl", "testdata/transfer.jsonl"}

func TestDistributedPage(t *testing.T) {
	b := results.NewBuilder(results.KeepHistograms())
	for _, p := range distributed {
		if err := b.AddFile(p); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := HTML(&out, b.Report()); err != nil {
		t.Fatal(err)
	}
	tables := regexp.MustCompile(`(?s)<table class="results">.*?</table>`).FindAll(out.Bytes(), -1)
	if len(tables) != 2 {
		t.Fatalf("%d tables of results, want one a run", len(tables))
	}
	golden.Check(t, filepath.Join("testdata", "distributed.html"), append(bytes.Join(tables, []byte("\n")), '\n'))
	for _, want := range []string{
		"<dt>on redis-aof</dt><dd>redis 7.0.15; persistence: aof, fsync every second; network: host; image lockbench/redis</dd>",
		"<dt>options</dt><dd>ttl 10s, renewed;",
		"<h4>Locks</h4>", "<dt>redsync</dt><dd>the library redsync v",
		"<h5>Time to release by percentile: max-contention, 4 workers on 2 cores, distributed, 2 clients</h5>", "<h5>Handoff by percentile:",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// TestInProcessPage: a page without distributed locks says nothing of them.
func TestInProcessPage(t *testing.T) {
	rep := load(t, "testdata/run.jsonl")
	for _, f := range Formats() {
		var out bytes.Buffer
		if err := f.Write(&out, rep); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"distributed", "Locks", "release p50", "server", "timeouts", "remote"} {
			if strings.Contains(out.String(), word) {
				t.Errorf("%s: the word %q", f.Name, word)
			}
		}
	}
}

// TestServersSaidOnce: a section on the servers of the one above does not list them
// again; one with others does.
func TestServersSaidOnce(t *testing.T) {
	cell := func(topology string, ttl int64) *results.CellSummary {
		return &results.CellSummary{Lock: "redis", Cell: "redis", Remote: &results.RemoteSettings{Service: "redis", Topology: topology, TTLNS: ttl, OnTimeout: "fail"}}
	}
	section := func(c ...*results.CellSummary) *results.Section {
		return &results.Section{Dispatch: "remote", Cells: c}
	}
	var said []string
	for i, x := range []struct {
		s    *results.Section
		want []string // beginnings
	}{
		{section(cell("redis-aof", 1e9), cell("redis", 1e9)), []string{"on redis: redis", "on redis-aof: redis", "options: ttl 1s, not renewed; not fenced;"}},
		{section(cell("redis", 1e9), cell("redis-aof", 1e9)), []string{"servers and options as above"}},
		{section(cell("redis", 1e9)), []string{"on redis: redis", "options: "}},
		{section(cell("redis", 2e9)), []string{"on redis: redis", "options: ttl 2s"}},
		{section(), nil}, // skipped altogether
	} {
		var lines []string
		lines, said = serverLines(x.s, said)
		if !slices.EqualFunc(lines, x.want, strings.HasPrefix) {
			t.Errorf("section %d: got %q, want %q", i, lines, x.want)
		}
	}
}

func TestOptionText(t *testing.T) {
	r := results.RemoteSettings{TTLNS: 10e9, Renew: true, Fence: true, WaitMinNS: 1e6, WaitMaxNS: 64e6, WaitJitter: 0.5,
		AcquireTimeoutNS: 3e8, OnTimeout: "fallback", Depth: 3, Order: "sorted", Keys: "uniform:4"}
	want := "ttl 10s, renewed; fenced; back-off of those that poll 1ms to 64ms, jitter 0.5; acquire time-out 300ms, then the section runs without the lock;" +
		" keys: uniform:4; two keys an operation, sorted; taken 3 times in itself"
	if got := optionText(&r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCountNotes(t *testing.T) {
	cell := func(lock string, n results.RemoteCounts) *results.CellSummary {
		return &results.CellSummary{Lock: lock, Cell: lock, Outcome: results.OutcomeOK, RemoteCounts: &n}
	}
	s := &results.Section{Dispatch: "remote", Cells: []*results.CellSummary{
		cell("calm", results.RemoteCounts{Ops: 5}),
		cell("late", results.RemoteCounts{Ops: 5, Timeouts: 3, GaveUp: 2, Fallbacks: 5, Errors: 1}),
		cell("impatient", results.RemoteCounts{GaveUp: 2, Unknown: 7, LostLeases: 1, StaleHolders: 4}),
		cell("stuck", results.RemoteCounts{DeadlockTTL: 1, DeadlockTimeout: 2, DeadlockServer: 3}),
		{Lock: "skipped", Cell: "skipped", Outcome: results.OutcomeSkipped},
	}}
	want := []string{
		"no lock in time: late 5 of 10, 2 of them given up by the lock itself; impatient 2 of 2, all given up by the lock itself",
		"sections run without the lock: late 5",
		"leases lost before their release: impatient 1",
		"holders still inside after their lease when the next one came: impatient 4",
		"requests whose outcome nobody knows: impatient 7",
		"operations that failed: late 1",
		"deadlocks ended by the acquire time-out: stuck 2",
		"deadlocks ended by a lease that ran out: stuck 1",
		"deadlocks found by the server: stuck 3",
	}
	if got := countNotes(s); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, x := range []struct {
		c          *results.CellSummary
		mark, want string
	}{
		{s.Cells[3], "deadlock 1/6", "deadlock 1/6 (deadlocks ended by the acquire time-out: 2; deadlocks ended by a lease that ran out: 1; deadlocks found by the server: 3)"},
		{s.Cells[1], "fallback", "fallback (sections run without the lock: 5)"},
		{s.Cells[2], "stale-holder 2/6", "stale-holder 2/6 (holders still inside after their lease when the next one came: 4)"},
		{s.Cells[1], "noisy", "noisy"},
		{s.Cells[0], "timeouts", "timeouts"},
		{s.Cells[4], "skipped: timeouts", "skipped: timeouts"},
	} {
		if got := countWords(x.c, x.mark); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestLockNotes: what is to be said of several locks, or in several runs, is said once.
func TestLockNotes(t *testing.T) {
	got := lockNotes(load(t, append(slices.Clone(distributed), "testdata/run.jsonl")...))
	want := map[string]string{
		"pg-advisory, pg-row": "ends with its session or transaction: the TTL does not apply",
		"redsync":             "the library redsync v4.18.1: ",
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d: %q", len(got), len(want), got)
	}
	for _, e := range got {
		if want[e.word] == "" || !strings.HasPrefix(e.text, want[e.word]) {
			t.Errorf("%s: %q", e.word, e.text)
		}
	}
}

func TestTrips(t *testing.T) {
	v := func(x float64) *results.Estimate { return &results.Estimate{N: 6, Median: x} }
	for _, x := range []struct {
		acquire, handoff *results.Estimate
		want             string
	}{
		{nil, nil, "-"}, {nil, v(0), "-"}, {nil, v(2), "-/2"}, {v(1), nil, "1/-"}, {v(1.037), v(2), "1.04/2"},
	} {
		if got := trips(&results.Metrics{RoundTrips: x.acquire, HandoffTrips: x.handoff}); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestWholeReason: the marks of a distributed row have lines of their own, and room for a reason
// whose end says most; those of other rows are cut as ever.
func TestWholeReason(t *testing.T) {
	const reason = "redis at 127.0.0.1:17999: reach 127.0.0.1:17999: dial tcp 127.0.0.1:17999: connect: connection refused"
	long := reason + strings.Repeat(" and so on", 100)
	for _, x := range []struct {
		dispatch, reason string
		want             string // the end
		most             int    // runes
	}{
		{"remote", reason, "connection refused", len("skipped: " + reason)},
		{"remote", long, "…", len("skipped: ") + maxAlarm},
		{"generated", reason, "…", len("skipped: ") + maxReason},
	} {
		s := &results.Section{Dispatch: x.dispatch, Workload: "w", Cells: []*results.CellSummary{
			{Lock: "redis", Cell: "redis/workload=w/workers=2", Dispatch: x.dispatch, Outcome: results.OutcomeSkipped, Reason: x.reason},
		}}
		marks := marksOf(s, s.Cells[0], nil)
		if len(marks) != 1 || !strings.HasSuffix(marks[0], x.want) || utf8.RuneCountInString(marks[0]) > x.most {
			t.Errorf("%s: got %q, want it to end with %q, of %d runes at most", x.dispatch, marks, x.want, x.most)
		}
		var b strings.Builder
		if err := grid(&b, sectionSheet(s), plainGrid()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > maxColumns {
				t.Errorf("%s: a line of %d columns: %q", x.dispatch, n, line)
			}
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.HasSuffix(got, x.want) || x.dispatch == "remote" && !strings.Contains(got, reason) {
			t.Errorf("%s: the table is\n%s", x.dispatch, b.String())
		}
	}
}
