package results

// Remote is the part of a Sample that only a distributed lock has. In such a
// repetition every operation is timed and there is one interval: ProbeOps and
// ProbeElapsedNS are 0, and the latencies are those of the throughput interval.
//
// Ops, and all that is "an acquisition" here, are sections run under the lock.
// Operations that ended otherwise are counted below and never ranked with them.
type Remote struct {
	Service  string `json:"service"`  // redis, redlock, etcd, zookeeper, postgres, loopback
	Topology string `json:"topology"` // such as etcd-3; "given" for servers given by URL
	// Network is how clients reach the servers: "host" (the host's own network),
	// "bridge" (published ports), "given" (servers given by URL), "none".
	Network       string `json:"network,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	Persistence   string `json:"persistence,omitempty"` // what survives a restart of the servers, in words
	Image         string `json:"image,omitempty"`
	// Kind is how the lock is judged: "lease" by claims, "guarded" and "optimistic" by
	// what was written. Absent in records of earlier versions and of runners.
	Kind string `json:"kind,omitempty"`
	Peer string `json:"peer,omitempty"` // the library under test and its version; empty: this project's own lock
	Note string `json:"note,omitempty"` // a remark on the lock, such as what the library lacks

	TTLNS            int64   `json:"ttl_ns"` // asked for
	Renew            bool    `json:"renew"`
	Fence            bool    `json:"fence"`
	WaitMinNS        int64   `json:"wait_min_ns"` // bounds of the back-off, where the lock polls
	WaitMaxNS        int64   `json:"wait_max_ns"`
	WaitJitter       float64 `json:"wait_jitter"`
	AcquireTimeoutNS int64   `json:"acquire_timeout_ns"`
	OnTimeout        string  `json:"on_timeout"`         // fail, retry, fallback
	Depth            int     `json:"depth,omitempty"`    // acquisitions of the same owner and key in each other; absent: 1
	Order            string  `json:"order,omitempty"`    // of the two keys of a transfer: sorted, as-given
	Keys             string  `json:"keys,omitempty"`     // hot, own, uniform:N, zipf:N:EXPONENT
	Transfer         bool    `json:"transfer,omitempty"` // an operation takes two keys

	Release *Latency `json:"release,omitempty"` // from the call of Release to its return
	// RoundTrips is the mean number of round trips that an acquisition waited
	// for, Commands of requests in all by acquisition: acquiring, releasing,
	// renewing, waiting, and operations that failed. Attempts is the mean number of
	// attempts to get the lock. Absent where the client cannot count them.
	RoundTrips *float64 `json:"round_trips_per_acquire,omitempty"`
	Commands   *float64 `json:"commands_per_acquire,omitempty"`
	Attempts   *float64 `json:"attempts_per_acquire,omitempty"`
	// HandoffTrips is the median number of round trips on the critical path of a
	// handoff: the release's, and those that the next holder began after it.
	// HandoffTripCounts is how many handoffs took 0, 1, 2, ... of them; the last entry is
	// MaxHandoffTrips or more.
	HandoffTrips      *float64 `json:"handoff_round_trips,omitempty"`
	HandoffTripCounts []int64  `json:"handoff_trip_counts,omitempty"`
	// ServerCPUNSPerOp is the processor time of the servers by acquisition, where
	// they are containers.
	ServerCPUNSPerOp *float64 `json:"server_cpu_ns_per_op,omitempty"`

	Timeouts     int64 `json:"timeouts"`      // acquisitions that the acquire time-out ended
	GaveUp       int64 `json:"gave_up"`       // that the lock itself ended before, as libraries do after some tries
	Retries      int64 `json:"retries"`       // operations tried again after one of these
	Fallbacks    int64 `json:"fallbacks"`     // sections run without the lock after one of these
	Unknown      int64 `json:"unknown"`       // acquisitions or releases whose outcome is not known
	Errors       int64 `json:"errors"`        // that failed otherwise: a connection lost, a server's error
	LostLeases   int64 `json:"lost_leases"`   // leases that ended before they were released
	Orphans      int64 `json:"orphans"`       // grants that came after the caller had left, and were released
	Renewals     int64 `json:"renewals"`      // that succeeded
	Acknowledged int64 `json:"acknowledged"`  // guarded or optimistic writes that the service acknowledged
	UnknownWrite int64 `json:"unknown_write"` // of which nobody knows

	// Deadlocks by their way out.
	DeadlockTTL     int64 `json:"deadlocks_ttl,omitempty"`             // a lease ran out
	DeadlockTimeout int64 `json:"deadlocks_acquire_timeout,omitempty"` // the acquire time-out
	DeadlockServer  int64 `json:"deadlocks_server,omitempty"`          // the server found it (PostgreSQL's 40P01)

	// StaleHolders is how often a holder whose lease was over by its own deadline, or lost, was
	// still inside when the next one came: the client's fault, or the machine's, and no violation.
	StaleHolders int64 `json:"stale_holders,omitempty"`

	// Raw sums, of which the means above are made, so that clients can be merged: requests,
	// round trips and attempts, the acquisitions that these were for, and processor time of the
	// client processes, in ns.
	CommandsSum int64 `json:"commands_sum"`
	TripsSum    int64 `json:"round_trips_sum"`
	AttemptsSum int64 `json:"attempts_sum"`
	AcquiredSum int64 `json:"acquired_sum"`
	ClientCPUNS int64 `json:"client_cpu_ns"`

	// What a violation consists of.
	Overlaps         int64 `json:"overlaps,omitempty"`          // sections that began while another holder's claim stood
	LostUpdates      int64 `json:"lost_updates,omitempty"`      // of plain counters and balances that the lock protects
	TokenRegressions int64 `json:"token_regressions,omitempty"` // fencing tokens that did not grow
	Damage           int64 `json:"damage,omitempty"`            // guarded and optimistic: difference of the final value and what was acknowledged
}

// MaxHandoffTrips is where counting the round trips of a handoff ends.
const MaxHandoffTrips = 15

// MedianTrips is the median of a HandoffTripCounts; nil of none.
func MedianTrips(counts []int64) *float64 {
	total, sum := int64(0), int64(0)
	for _, n := range counts {
		total += n
	}
	for i, n := range counts {
		sum += n
		if n > 0 && 2*sum >= total {
			v := float64(i)
			return &v
		}
	}
	return nil
}

// Means makes the means of the raw sums, for as many acquisitions that ended in the
// interval. A control has none.
func (r *Remote) Means(ops int64) {
	by := func(n, of int64) *float64 {
		if n == 0 || of == 0 {
			return nil
		}
		v := float64(n) / float64(of)
		return &v
	}
	r.Commands, r.RoundTrips, r.Attempts = by(r.CommandsSum, ops), by(r.TripsSum, r.AcquiredSum), by(r.AttemptsSum, r.AcquiredSum)
}

// Deadlocks is the number of deadlocks, by whatever way out.
func (r *Remote) Deadlocks() int64 { return r.DeadlockTTL + r.DeadlockTimeout + r.DeadlockServer }

// release is nil-safe.
func (r *Remote) release() *Latency {
	if r == nil {
		return nil
	}
	return r.Release
}

// maxRemoteCount is more than a day at the highest rate that is believed, and sums of a
// few do not overflow.
const maxRemoteCount = 1 << 56

func (s *Sample) validateRemote(c *checker) {
	r := s.Remote
	if r == nil {
		return
	}
	c.require("remote.service", r.Service != "", "is empty")
	c.latency("remote.release", r.Release)
	for _, x := range []struct {
		name string
		v    *float64
	}{{"round_trips_per_acquire", r.RoundTrips}, {"commands_per_acquire", r.Commands}, {"attempts_per_acquire", r.Attempts},
		{"handoff_round_trips", r.HandoffTrips}, {"server_cpu_ns_per_op", r.ServerCPUNSPerOp}} {
		c.positive("remote."+x.name, x.v)
	}
	for _, x := range []struct {
		name string
		n    int64
	}{{"ttl_ns", r.TTLNS}, {"wait_min_ns", r.WaitMinNS}, {"wait_max_ns", r.WaitMaxNS}, {"acquire_timeout_ns", r.AcquireTimeoutNS}} {
		c.span("remote."+x.name, x.n)
	}
	c.require("remote.wait_jitter", r.WaitJitter >= 0 && r.WaitJitter <= 1, "%g is not from 0 to 1", r.WaitJitter)
	c.require("remote.depth", r.Depth >= 0 && r.Depth <= maxWorkers, "%d is not from 0 to %d", r.Depth, maxWorkers)
	c.require("remote.handoff_trip_counts", len(r.HandoffTripCounts) <= MaxHandoffTrips+1, "%d entries are more than %d", len(r.HandoffTripCounts), MaxHandoffTrips+1)
	count := func(name string, n int64) {
		c.count("remote."+name, n)
		c.require("remote."+name, n <= maxRemoteCount, "%d is not credible", n)
	}
	for _, n := range r.HandoffTripCounts {
		count("handoff_trip_counts", n)
	}
	for _, x := range []struct {
		name string
		n    int64
	}{{"timeouts", r.Timeouts}, {"gave_up", r.GaveUp}, {"retries", r.Retries}, {"fallbacks", r.Fallbacks}, {"unknown", r.Unknown},
		{"errors", r.Errors}, {"lost_leases", r.LostLeases}, {"orphans", r.Orphans}, {"renewals", r.Renewals},
		{"acknowledged", r.Acknowledged}, {"unknown_write", r.UnknownWrite},
		{"deadlocks_ttl", r.DeadlockTTL}, {"deadlocks_acquire_timeout", r.DeadlockTimeout}, {"deadlocks_server", r.DeadlockServer},
		{"stale_holders", r.StaleHolders},
		{"commands_sum", r.CommandsSum}, {"round_trips_sum", r.TripsSum}, {"attempts_sum", r.AttemptsSum}, {"acquired_sum", r.AcquiredSum},
		{"client_cpu_ns", r.ClientCPUNS}, {"overlaps", r.Overlaps}, {"lost_updates", r.LostUpdates}, {"token_regressions", r.TokenRegressions}, {"damage", r.Damage}} {
		count(x.name, x.n)
	}
}

// ofRemoteSample takes a figure of a distributed lock's sample, ofRemote one of its Remote.
func ofRemoteSample(get func(*Sample) (float64, bool)) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if s.Remote == nil {
			return 0, false
		}
		return get(s)
	}
}

func ofRemote(get func(*Remote) (float64, bool)) func(*Sample) (float64, bool) {
	return ofRemoteSample(func(s *Sample) (float64, bool) { return get(s.Remote) })
}

// remoteMetrics are the metrics that only distributed locks have.
func remoteMetrics() []Metric {
	release := func(s *Sample) *Latency { return s.Remote.release() }
	pointer := func(get func(*Remote) *float64) func(*Sample) (float64, bool) {
		return ofRemote(func(r *Remote) (float64, bool) {
			if p := get(r); p != nil {
				return *p, true
			}
			return 0, false
		})
	}
	// Of those that got it, or did not in time. What failed otherwise is not known to
	// have waited.
	timeouts := ofRemoteSample(func(s *Sample) (float64, bool) {
		n := s.Remote.Timeouts + s.Remote.GaveUp
		return shareOf(n, s.Ops+n)
	})
	return []Metric{
		{"release_p50_ns", "ns", Lower, "distributed: median time of a release",
			ofLatency(release, func(l *Latency) int64 { return l.P50 }), func(m *Metrics) **Estimate { return &m.ReleaseP50 }},
		{"release_p99_ns", "ns", Lower, "distributed: 99th percentile of it",
			ofLatency(release, func(l *Latency) int64 { return l.P99 }), func(m *Metrics) **Estimate { return &m.ReleaseP99 }},
		{"round_trips_per_acquire", "", Lower, "distributed: round trips that an acquisition waited for",
			pointer(func(r *Remote) *float64 { return r.RoundTrips }), func(m *Metrics) **Estimate { return &m.RoundTrips }},
		{"handoff_round_trips", "", Lower, "distributed: round trips between a release and the next grant, the release's included",
			pointer(func(r *Remote) *float64 { return r.HandoffTrips }), func(m *Metrics) **Estimate { return &m.HandoffTrips }},
		{"commands_per_acquire", "", Lower, "distributed: requests to servers by acquisition, renewals and failures included",
			pointer(func(r *Remote) *float64 { return r.Commands }), func(m *Metrics) **Estimate { return &m.Commands }},
		{"attempts_per_acquire", "", Lower, "distributed: attempts by acquisition",
			pointer(func(r *Remote) *float64 { return r.Attempts }), func(m *Metrics) **Estimate { return &m.Attempts }},
		{"server_cpu_ns_per_op", "ns", Lower, "distributed: processor time of the servers by acquisition",
			pointer(func(r *Remote) *float64 { return r.ServerCPUNSPerOp }), func(m *Metrics) **Estimate { return &m.ServerCPU }},
		{"timeouts_pct", "%", Lower, "distributed: operations that got no lock in time",
			timeouts, func(m *Metrics) **Estimate { return &m.Timeouts }},
		{"lost_leases", "", Lower, "distributed: leases that ended before they were released",
			ofRemote(func(r *Remote) (float64, bool) { return float64(r.LostLeases), true }), func(m *Metrics) **Estimate { return &m.LostLeases }},
		{"orphans", "", Lower, "distributed: grants that came after the caller had left",
			ofRemote(func(r *Remote) (float64, bool) { return float64(r.Orphans), true }), func(m *Metrics) **Estimate { return &m.Orphans }},
		{"deadlocks", "", Lower, "distributed: deadlocks, by whatever way out",
			ofRemote(func(r *Remote) (float64, bool) { return float64(r.Deadlocks()), r.Transfer }), func(m *Metrics) **Estimate { return &m.Deadlocks }},
	}
}
