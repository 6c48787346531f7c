package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// remoteSample is a consistent repetition of a distributed lock, on two clients.
func remoteSample(t testing.TB, lock, place string, rep int, ops int64) *Sample {
	s := testSample(lock, rep, ops)
	s.Cell, s.Clients, s.Dispatch = lock+"/workload=moderate/workers=2/clients=2"+place, 2, DispatchRemote
	one, two := 1.25, 2.0
	s.Remote = &Remote{
		Service: "redis", Topology: "redis", Network: "host", ServerVersion: "7.0.15", Persistence: "none", Image: "redis:7",
		TTLNS: 10e9, Renew: true, WaitMinNS: 1e6, WaitMaxNS: 64e6, WaitJitter: 0.5, AcquireTimeoutNS: 5e9, OnTimeout: "fail", Keys: "hot",
		Release: latencyOf(t, 1, 100, 200, 300), RoundTrips: &one, Commands: &two, Attempts: &one, HandoffTrips: &two,
		HandoffTripCounts: []int64{0, 1, 3}, ServerCPUNSPerOp: &two,
	}
	if topology := strings.TrimPrefix(place, "/topology="); topology != place {
		s.Remote.Topology, _, _ = strings.Cut(topology, "/")
	}
	return s
}

func TestPlace(t *testing.T) {
	for _, x := range []struct{ cell, variant, topology, row string }{
		{"redis/workload=w/workers=2", "/workload=w/workers=2", "", "redis"},
		{"redis/workload=w/topology=redis-aof", "/workload=w", "redis-aof", "redis (redis-aof)"},
		{"redis/workload=w/topology=redis-aof/ttl=1s", "/workload=w/ttl=1s", "redis-aof", "redis (redis-aof)"},
		{"redis/workload=w/topology=redis", "/workload=w", "redis", "redis"},
		{"redis/topology=/ttl=1s", "/ttl=1s", "", "redis"},
		{"redis", "", "", "redis"},
	} {
		variant, topology := Place(x.cell, "redis")
		if row := RowName(x.cell, "redis"); variant != x.variant || topology != x.topology || row != x.row {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", x.cell, variant, topology, row, x.variant, x.topology, x.row)
		}
	}
}

// TestDistributedSections: locks on all topologies stand beside each other, away from
// in-process ones of the same workload, and options part them.
func TestDistributedSections(t *testing.T) {
	b := NewBuilder()
	run := testRun("r")
	null := testSample("null", 0, 9000)
	null.Control, null.Clients, null.Cell = true, 2, "null/workload=moderate/workers=2/clients=2"
	nullLease := remoteSample(t, "null-lease", "", 0, 8000)
	nullLease.Control = true
	skipped := testSample("etcd", 0, 0)
	skipped.Cell, skipped.Clients, skipped.Dispatch, skipped.Outcome = "etcd/workload=moderate/workers=2/clients=2", 2, DispatchRemote, OutcomeSkipped
	add(t, b, "a", run, null,
		remoteSample(t, "redis", "", 0, 1000), remoteSample(t, "redis", "", 1, 1010), remoteSample(t, "redis", "", 1, 7), // read before
		remoteSample(t, "redis", "/topology=redis-aof", 0, 900), remoteSample(t, "redsync", "/topology=redis-aof", 0, 950),
		remoteSample(t, "redis", "/topology=redis-aof/ttl=1s", 0, 900), nullLease, skipped)
	var got []string
	for _, s := range b.Report().Runs[0].Sections {
		text := fmt.Sprintf("%s %q:", s.Dispatch, s.Params)
		for _, c := range s.Cells {
			text += fmt.Sprintf(" %s n=%d", c.RowName(), c.OKReps)
		}
		if s.Control != nil {
			text += " beside " + s.Control.Lock
		}
		got = append(got, text)
	}
	want := []string{
		`direct []: null n=1`,
		`remote []: null-lease n=1 redis n=2 redsync (redis-aof) n=1 redis (redis-aof) n=1 etcd n=0`,
		`remote ["ttl=1s"]: redis (redis-aof) n=1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestControlsStayOnTheirSide: what the harness of in-process locks costs is no control
// of distributed ones, nor the other way round.
func TestControlsStayOnTheirSide(t *testing.T) {
	b := NewBuilder()
	null := testSample("null", 0, 9000)
	null.Control = true
	remote := remoteSample(t, "redis", "", 0, 1000)
	remote.Clients = 1
	other := testSample("mcs", 0, 900)
	other.Threads = "locked"
	add(t, b, "a", testRun("r"), null, remote, other)
	for _, s := range b.Report().Runs[0].Sections {
		if s.Distributed() && s.Control != nil {
			t.Errorf("the distributed section has the control %s", s.Control.Lock)
		}
		if s.Threads == "locked" && s.Control == nil {
			t.Error("the in-process section has no control")
		}
	}
}

func TestRemoteSummary(t *testing.T) {
	b := NewBuilder(KeepHistograms())
	for rep := range 3 {
		s := remoteSample(t, "redis", "", rep, 1000)
		s.Remote.Timeouts, s.Remote.GaveUp, s.Remote.Transfer, s.Remote.DeadlockServer = 200, 50, true, 2
		s.Remote.StaleHolders = 3
		s.Remote.Note = "a\x1b[31mnote"
		if rep == 0 {
			s.Outcome, s.Remote = OutcomeError, nil
			add(t, b, "a", testRun("r"))
		}
		add(t, b, "a", s)
	}
	run := b.Report().Runs[0]
	c := run.Cells()[0]
	if c.Remote == nil || c.Remote.ServerVersion != "7.0.15" || c.Remote.Depth != 1 || strings.Contains(c.Remote.Note, "\x1b") {
		t.Fatalf("got the settings %+v", c.Remote)
	}
	if n := *c.RemoteCounts; n.Reps != 2 || n.Ops != 2000 || n.NoLock() != 500 || n.DeadlockServer != 4 || n.StaleHolders != 6 {
		t.Errorf("got the counts %+v", n)
	}
	for _, x := range []struct {
		name string
		e    *Estimate
		want float64
	}{
		{"timeouts_pct", c.Metrics.Timeouts, 20}, {"deadlocks", c.Metrics.Deadlocks, 2}, {"round_trips_per_acquire", c.Metrics.RoundTrips, 1.25},
		{"release_p50_ns", c.Metrics.ReleaseP50, 200}, {"lost_leases", c.Metrics.LostLeases, 0},
	} {
		if x.e == nil || math.Abs(x.e.Median-x.want) > x.want/100 || x.e.N != 2 {
			t.Errorf("%s: got %+v, want %g of 2 repetitions", x.name, x.e, x.want)
		}
	}
	if c.ReleaseHist == nil || c.ReleaseHist.Samples() != 6 {
		t.Errorf("got the histogram %+v of releases, want one of 6 samples", c.ReleaseHist)
	}
	if r := run.Samples[1].Remote; r.Release.HDR != "" || r.HandoffTripCounts != nil {
		t.Error("the report keeps histograms of single repetitions")
	}
	out, err := json.Marshal(c)
	if err != nil || !bytes.Contains(out, []byte(`"remote":{"service":"redis"`)) || !bytes.Contains(out, []byte(`"timeouts":400`)) {
		t.Errorf("in JSON: %s, %v", out, err)
	}
}

func TestBuilderLeavesRemoteAsItIs(t *testing.T) {
	s := remoteSample(t, "redis", "", 0, 10)
	s.Remote.Note = "\x1b"
	want := *s.Remote
	b := NewBuilder()
	add(t, b, "a", testRun("r"), s)
	if diff := cmp.Diff(want, *s.Remote); diff != "" {
		t.Errorf("Add changed the record (-before +after):\n%s", diff)
	}
}

func TestRemoteSummariesOnly(t *testing.T) {
	fill := func(opts ...BuilderOption) *Report {
		b := NewBuilder(opts...)
		add(t, b, "a", testRun("r"))
		for rep := range 7 {
			add(t, b, "a", remoteSample(t, "redis", "", rep, int64(1000+rep)), testSample("mcs", rep, 1000))
		}
		return b.Report()
	}
	full, slim := fill(), fill(SummariesOnly())
	slim.Runs[0].Samples = full.Runs[0].Samples
	if diff := cmp.Diff(full, slim); diff != "" {
		t.Errorf("reports differ (-full +slim):\n%s", diff)
	}
	var samples []*Sample
	for _, s := range full.Runs[0].Samples {
		if s.Lock == "redis" {
			samples = append(samples, s)
		}
	}
	one := Summarize(samples, 5)
	if diff := cmp.Diff(full.Runs[0].Sections[1].Cells[0].RemoteCounts, one.RemoteCounts); diff != "" || one.Remote == nil {
		t.Errorf("Summarize: %s", diff)
	}
}

// TestRemoteRefuses: what cannot be true is refused, with the field's name.
func TestRemoteRefuses(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for _, x := range []struct {
		field string
		edit  func(*Remote)
	}{
		{"remote.service", func(r *Remote) { r.Service = "" }},
		{"remote.ttl_ns", func(r *Remote) { r.TTLNS = -1 }},
		{"remote.ttl_ns", func(r *Remote) { r.TTLNS = math.MaxInt64 }},
		{"remote.wait_min_ns", func(r *Remote) { r.WaitMinNS = -1 }},
		{"remote.wait_max_ns", func(r *Remote) { r.WaitMaxNS = math.MaxInt64 }},
		{"remote.wait_jitter", func(r *Remote) { r.WaitJitter = 1.5 }},
		{"remote.wait_jitter", func(r *Remote) { r.WaitJitter = math.NaN() }},
		{"remote.acquire_timeout_ns", func(r *Remote) { r.AcquireTimeoutNS = -1 }},
		{"remote.depth", func(r *Remote) { r.Depth = -1 }},
		{"remote.round_trips_per_acquire", func(r *Remote) { r.RoundTrips = v(-1) }},
		{"remote.round_trips_per_acquire", func(r *Remote) { r.RoundTrips = v(math.NaN()) }},
		{"remote.commands_per_acquire", func(r *Remote) { r.Commands = v(math.Inf(1)) }},
		{"remote.attempts_per_acquire", func(r *Remote) { r.Attempts = v(1e300) }},
		{"remote.handoff_round_trips", func(r *Remote) { r.HandoffTrips = v(-1) }},
		{"remote.server_cpu_ns_per_op", func(r *Remote) { r.ServerCPUNSPerOp = v(math.NaN()) }},
		{"remote.handoff_trip_counts", func(r *Remote) { r.HandoffTripCounts = []int64{-1} }},
		{"remote.handoff_trip_counts", func(r *Remote) { r.HandoffTripCounts = make([]int64, MaxHandoffTrips+2) }},
		{"remote.handoff_trip_counts", func(r *Remote) { r.HandoffTripCounts = []int64{math.MaxInt64, math.MaxInt64} }},
		{"remote.timeouts", func(r *Remote) { r.Timeouts = -1 }},
		{"remote.timeouts", func(r *Remote) { r.Timeouts = math.MaxInt64 }},
		{"remote.damage", func(r *Remote) { r.Damage = -1 }},
		{"remote.deadlocks_server", func(r *Remote) { r.DeadlockServer = math.MaxInt64 }},
		{"remote.release.p90_ns", func(r *Remote) { r.Release = &Latency{P50: 9, P90: 8} }},
		{"remote.release.count", func(r *Remote) { r.Release = &Latency{Count: -1} }},
		{"remote.release.hdr", func(r *Remote) { r.Release = &Latency{HDR: "no histogram"} }},
	} {
		s := remoteSample(t, "redis", "", 0, 1000)
		if err := s.Validate(); err != nil {
			t.Fatalf("before the change: %v", err)
		}
		x.edit(s.Remote)
		var fe *FieldError
		if err := s.Validate(); !errors.As(err, &fe) || fe.Field != x.field {
			t.Errorf("got %v, want an error of %s", err, x.field)
		}
	}
}

// TestReaderDropsReleases: like those of acquisitions, the histograms of releases are
// kept on request alone, and looked at in any case.
func TestReaderDropsReleases(t *testing.T) {
	var out bytes.Buffer
	if err := NewWriter(&out, "").Write(remoteSample(t, "redis", "", 0, 1000)); err != nil {
		t.Fatal(err)
	}
	line := out.String()
	h := latencyOf(t, 1, 100, 200, 300).HDR
	for _, x := range []struct {
		text string
		opts []ReadOption
		want string
	}{
		{line, nil, ""},
		{line, []ReadOption{WithHistograms()}, h},
		{strings.Replace(line, `"hdr":"`, `"hdr" : "`, 1), nil, ""}, // as others write it
	} {
		n := 0
		for rec, err := range NewReader(strings.NewReader(runLine+x.text), "in", x.opts...).Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Sample == nil {
				continue
			}
			n++
			if got := rec.Sample.Remote.Release; got.HDR != x.want || got.P50 != 200 {
				t.Errorf("got %+v, want the histogram %q", got, x.want)
			}
		}
		if n != 1 {
			t.Errorf("got %d samples, want one", n)
		}
	}
	_, _, err := readAll(t, runLine+strings.Replace(line, h, "HISTF***", 1))
	var fe *FileError
	if !errors.As(err, &fe) || fe.Field != "remote.release.hdr" {
		t.Errorf("a damaged histogram: got %v", err)
	}
}

// TestCountsDoNotOverflow: sums of absurd counts stay positive.
func TestCountsDoNotOverflow(t *testing.T) {
	var c RemoteCounts
	for range 3 {
		s := &Sample{Remote: &Remote{Timeouts: math.MaxInt64 - 1}}
		c.add(s)
	}
	if c.Timeouts <= 0 {
		t.Errorf("got %d", c.Timeouts)
	}
}

func TestMedianTrips(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	for _, x := range []struct {
		counts []int64
		want   *float64
	}{
		{nil, nil}, {[]int64{0, 0}, nil}, {[]int64{5}, v(0)}, {[]int64{0, 1, 1}, v(1)}, {[]int64{0, 1, 2}, v(2)}, {[]int64{0, 0, 7, 1}, v(2)},
	} {
		if got := MedianTrips(x.counts); !cmp.Equal(got, x.want) {
			t.Errorf("%v: got %v, want %v", x.counts, got, x.want)
		}
	}
}

// TestReportMemory: what distributed records add to a report of many is bounded, and
// in-process ones pay nothing for it.
func TestReportMemory(t *testing.T) {
	const reps = 20_000
	for _, x := range []struct {
		name   string
		remote bool
		most   int64 // bytes a repetition
	}{{"in-process", false, 420}, {"distributed", true, 560}} {
		b := NewBuilder(SummariesOnly())
		add(t, b, "a", testRun("r"))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for rep := range reps {
			s := testSample("mcs", rep, 1000)
			if x.remote {
				s = remoteSample(t, "redis", "", rep, 1000)
			}
			add(t, b, "a", s)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / reps
		t.Logf("%s: %d bytes a repetition", x.name, each)
		if each > x.most {
			t.Errorf("%s: %d bytes a repetition, want at most %d", x.name, each, x.most)
		}
		runtime.KeepAlive(b)
	}
}
