package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

// remoteCell adds repetitions of a distributed lock.
func (b *bench) remoteCell(lock, place string, rates ...float64) *bench {
	from := len(b.samples)
	b.cell(lock, rates...)
	for i, s := range b.samples[from:] {
		commands := 2 + float64(i)/100
		s.Cell, s.Dispatch, s.Rep, s.Ops = lock+"/workload=w/workers=2"+place, results.DispatchRemote, i, 100
		s.Remote = &results.Remote{Service: "redis", Topology: "given", Network: "given", ServerVersion: "7.0", Persistence: "none", Image: "redis:7",
			Peer: "lib v1", TTLNS: 10e9, Renew: true, WaitMinNS: 1e6, WaitMaxNS: 64e6, WaitJitter: 0.5, AcquireTimeoutNS: 5e9, OnTimeout: "fail", Keys: "hot",
			Commands: &commands}
	}
	return b
}

// TestServersMustBeAlike: what a cell's name does not say may differ all the same.
func TestServersMustBeAlike(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*results.Remote)
		want   string // in the refusal; "" = none
		notes  []Difference
	}{
		{"nothing", func(*results.Remote) {}, "", nil},
		{"service", func(r *results.Remote) { r.Service = "etcd" }, "the service: redis and etcd", nil},
		{"topology", func(r *results.Remote) { r.Topology = "redis-aof" }, "the topology: given and redis-aof", nil},
		{"network", func(r *results.Remote) { r.Network = "bridge" }, "the network: given and bridge", nil},
		{"network that is not said", func(r *results.Remote) { r.Network = "" }, "the network: given and unknown", nil},
		{"persistence", func(r *results.Remote) { r.Persistence = "" }, "the persistence: none and unknown", nil},
		{"ttl", func(r *results.Remote) { r.TTLNS = 1e9 }, "the TTL: 10s and 1s", nil},
		{"renew", func(r *results.Remote) { r.Renew = false }, "renewal: true and false", nil},
		{"fence", func(r *results.Remote) { r.Fence = true }, "fencing", nil},
		{"wait", func(r *results.Remote) { r.WaitJitter = 0.1 }, "the back-off: 1ms to 64ms, jitter 0.5 and 1ms to 64ms, jitter 0.1", nil},
		{"time-out", func(r *results.Remote) { r.AcquireTimeoutNS = 1e9 }, "the acquire time-out: 5s and 1s", nil},
		{"on time-out", func(r *results.Remote) { r.OnTimeout = "retry" }, "what follows a time-out: fail and retry", nil},
		{"depth", func(r *results.Remote) { r.Depth = 2 }, "reentrancy: 1 and 2", nil},
		{"depth that is not said", func(r *results.Remote) { r.Depth = 1 }, "", nil},
		{"keys", func(r *results.Remote) { r.Keys = "own" }, "the keys: hot and own", nil},
		{"order", func(r *results.Remote) { r.Order = "sorted" }, "the order of two keys: unknown and sorted", nil},
		{"version", func(r *results.Remote) { r.ServerVersion = "8.0" }, "", []Difference{{"server version of given (redis)", "7.0", "8.0"}}},
		{"image", func(r *results.Remote) { r.Image = "x" }, "", []Difference{{"image of given (redis)", "redis:7", "x"}}},
		{"library", func(r *results.Remote) { r.Peer = "lib v2" }, "", []Difference{{"library of redis", "lib v1", "lib v2"}}},
		{"note", func(r *results.Remote) { r.Note = "x" }, "", nil},
	} {
		a, b := newBench("a").remoteCell("redis", "", steps(7, 1000)...), newBench("b").remoteCell("redis", "", steps(7, 1000)...)
		each(b, func(s *results.Sample) { x.change(s.Remote) })
		c, err := Compare(side(t, "old", a), side(t, "new", b), Options{Metrics: metrics(t, "commands_per_acquire")})
		var refused *Error
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", x.name, err)
		case x.want == "" && !slices.Equal(c.Notes, x.notes):
			t.Errorf("%s: got the differences %+v, want %+v", x.name, c.Notes, x.notes)
		case x.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), x.want) || refused.Hint() == ""):
			t.Errorf("%s: got %v, want a refusal with a hint and %q", x.name, err, x.want)
		}
		if pooled := side(t, "new", a, b); len(x.notes) > 0 || x.want != "" {
			if _, err := Compare(side(t, "old", newBench("c").remoteCell("redis", "", 1)), pooled, Options{}); err == nil || !strings.Contains(err.Error(), "new: runs a and b differ in") {
				t.Errorf("%s: runs of one side: got %v, want a refusal", x.name, err)
			}
		}
	}
}

// TestServersOfOneSide: what only one side ran on is no difference, and what is left out
// by a filter refuses nothing.
func TestServersOfOneSide(t *testing.T) {
	a := newBench("a").remoteCell("redis", "", steps(7, 1000)...)
	b := newBench("b").remoteCell("redis", "", steps(7, 1000)...).remoteCell("etcd", "", steps(7, 1000)...)
	each(b, func(s *results.Sample) {
		if s.Lock == "etcd" {
			s.Remote.Service, s.Remote.Topology, s.Remote.Peer = "etcd", "etcd-3", ""
		}
	})
	if c, err := Compare(side(t, "old", a), side(t, "new", b), Options{}); err != nil || len(c.Notes) > 0 {
		t.Errorf("got %+v, %v, want no difference", c, err)
	}
	a.remoteCell("etcd", "", steps(7, 1000)...)
	f, err := ParseFilter("lock=redis")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(side(t, "old", a), side(t, "new", b), Options{Filters: []Filter{f}}); err != nil {
		t.Errorf("etcd is filtered out: %v", err)
	}
	if _, err := Compare(side(t, "old", a), side(t, "new", b), Options{}); err == nil || !strings.Contains(err.Error(), "etcd/workload=w/workers=2: old and new differ in the service") {
		t.Errorf("got %v, want a refusal of etcd", err)
	}
}

// TestDirectionOfRemoteMetrics: more requests are worse, and times are slower.
func TestDirectionOfRemoteMetrics(t *testing.T) {
	a, b := newBench("a").remoteCell("redis", "", steps(9, 1000)...), newBench("b").remoteCell("redis", "", steps(9, 1000)...)
	each(b, func(s *results.Sample) {
		*s.Remote.Commands *= 3
		s.Remote.Release = &results.Latency{Count: 1, P50: 200, P90: 200, P99: 200, P999: 200, Max: 200}
		s.Remote.Timeouts = 300
	})
	each(a, func(s *results.Sample) {
		s.Remote.Release = &results.Latency{Count: 1, P50: 100, P90: 100, P99: 100, P999: 100, Max: 100}
	})
	c, err := Compare(side(t, "old", a), side(t, "new", b), Options{Metrics: metrics(t, "commands_per_acquire", "release_p50_ns", "timeouts_pct")})
	if err != nil {
		t.Fatal(err)
	}
	want := []Verdict{IsWorse, Slower, IsWorse}
	for i, r := range c.Rows {
		if r.Verdict != want[i] || !slices.Contains(r.Notes, "no lock in time: 0 and 75 %") {
			t.Errorf("%s: got %s, notes %q, want %s and the share without the lock", r.Metric.Name, r.Verdict, r.Notes, want[i])
		}
	}
}

// TestLengthOfRemoteIntervals: distributed cells have an interval of their own, which
// matters where there are such cells, and counts grow with it.
func TestLengthOfRemoteIntervals(t *testing.T) {
	length := func(b *bench, ns float64) *bench {
		b.run.Spec.(map[string]any)["remote"] = map[string]any{"duration_ns": ns, "warmup_ns": 1e8}
		return b
	}
	old, new := length(newBench("a").cell("mcs", 1, 2), 1e8), length(newBench("b").cell("mcs", 1, 2), 2e8)
	if c, err := Compare(side(t, "old", old), side(t, "new", new), Options{}); err != nil || len(c.Warnings) > 0 {
		t.Errorf("in-process cells alone: got %v, %v", c, err)
	}
	old.remoteCell("redis", "", 1, 2)
	new.remoteCell("redis", "", 1, 2)
	c, err := Compare(side(t, "old", old), side(t, "new", new), Options{})
	if err != nil || !slices.Contains(c.Warnings, "measured otherwise: the length of the interval of distributed locks: 100ms and 200ms") {
		t.Errorf("got %v, %v, want a warning", c, err)
	}
	for _, name := range []string{"orphans", "lost_leases", "deadlocks"} {
		if _, err = Compare(side(t, "old", old), side(t, "new", new), Options{Metrics: metrics(t, name)}); err == nil || !strings.Contains(err.Error(), name+" grows with how long") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// TestTopologiesShareASection: rows of one workload stay together.
func TestTopologiesShareASection(t *testing.T) {
	mk := func(id string) *bench {
		return newBench(id).remoteCell("redis", "", 1, 2).remoteCell("redis", "/topology=redis-aof", 1, 2).cell("mcs", 1, 2).remoteCell("redsync", "", 1, 2)
	}
	c, err := Compare(side(t, "old", mk("a")), side(t, "new", mk("b")), Options{Metrics: metrics(t, "throughput_ops_s")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rows {
		got = append(got, results.RowName(r.Cell, r.Lock))
	}
	// The section of mcs has the same name, and differs in the dispatch alone.
	if want := []string{"mcs", "redis", "redis (redis-aof)", "redsync"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
