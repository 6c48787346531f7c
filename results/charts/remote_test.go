package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// remoteReport has sections of distributed locks: workers by clients.
func remoteReport(t *testing.T, shapes ...[2]int) *results.RunReport {
	t.Helper()
	b := results.NewBuilder(results.KeepHistograms())
	add := func(r results.Record) {
		t.Helper()
		if err := b.Add("f", r); err != nil {
			t.Fatal(err)
		}
	}
	add(results.Record{Run: &results.Run{RunID: "r", Schema: 1, Reps: 6}})
	h := results.NewHist()
	for i := range int64(200) {
		h.Record(1000+i, 1)
	}
	l, err := h.Latency(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range shapes {
		for _, place := range []string{"", "/topology=redis-aof"} {
			for rep := range 6 {
				add(results.Record{Sample: &results.Sample{
					Cell: fmt.Sprintf("redis/workload=w/workers=%d/clients=%d", x[0], x[1]) + place, Lock: "redis", Family: "distributed/redis",
					Workload: "w", Workers: x[0], Clients: x[1], Cores: 2, Dispatch: results.DispatchRemote, Rep: rep, Outcome: results.OutcomeOK,
					Ops: 100, ElapsedNS: 1e8, ThroughputOps: 1000 + float64(rep), Acquire: l, Handoff: l,
					Remote: &results.Remote{Service: "redis", Topology: "redis", Release: l},
				}})
			}
		}
	}
	return b.Report().Runs[0]
}

func titles(t *testing.T, r *results.RunReport) []string {
	t.Helper()
	all, err := Of(r)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	names := map[string]bool{}
	for _, c := range all {
		out = append(out, c.Title)
		if names[c.Name] {
			t.Errorf("two charts are named %s", c.Name)
		}
		names[c.Name] = true
	}
	return out
}

// TestThroughputByClients: where clients vary alone, throughput is drawn against all
// workers together; where both vary, for each number of clients.
func TestThroughputByClients(t *testing.T) {
	lines := func(r *results.RunReport) []string {
		return slices.DeleteFunc(titles(t, r), func(s string) bool { return !strings.HasPrefix(s, "Throughput by number of workers") })
	}
	for _, x := range []struct {
		shapes [][2]int
		want   []string
	}{
		{[][2]int{{2, 1}, {4, 2}, {8, 4}}, []string{"Throughput by number of workers: w, distributed"}},
		{[][2]int{{1, 1}, {2, 1}}, []string{"Throughput by number of workers: w, distributed"}},
		{[][2]int{{1, 1}, {2, 1}, {2, 2}, {4, 2}}, []string{"Throughput by number of workers: w, distributed", "Throughput by number of workers: w, distributed, 2 clients"}},
		{[][2]int{{2, 1}}, nil},
	} {
		if got := lines(remoteReport(t, x.shapes...)); !slices.Equal(got, x.want) {
			t.Errorf("%v: got %q, want %q", x.shapes, got, x.want)
		}
	}
}

// TestTimesOfDistributedLocks: beside the time to acquire there are those to release and
// to hand over, of each topology, and the title of a section says how many clients.
func TestTimesOfDistributedLocks(t *testing.T) {
	r := remoteReport(t, [2]int{2, 1}, [2]int{4, 2})
	got := titles(t, r)
	for _, want := range []string{
		"Time to acquire by percentile: w, 2 workers on 2 cores, distributed", "Time to release by percentile: w, 4 workers on 2 cores, distributed, 2 clients",
		"Handoff by percentile: w, 4 workers on 2 cores, distributed, 2 clients",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no chart %q among %q", want, got)
		}
	}
	all, err := Of(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		file := string(c.File())
		if !strings.Contains(file, "redis (redis-aof)") {
			t.Errorf("%s does not tell the topologies apart", c.Name)
		}
		if strings.HasPrefix(c.Title, "Throughput by") && !slices.Contains(c.Caption, "Each client process has 2 workers.") {
			t.Errorf("the caption does not say how many workers a client has: %q", c.Caption)
		}
	}
}
