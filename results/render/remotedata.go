package render

import (
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"lockbench/results"
)

// remoteFields are the columns of the CSV format that only distributed locks have: what
// they ran on, how they were asked for, medians of a repetition, and counts (_total) of
// all repetitions together. A report without such locks does not have them.
func remoteFields(rep *results.Report) []field {
	if !hasSection(rep, (*results.Section).Distributed) {
		return nil
	}
	type settings = results.RemoteSettings
	type counts = results.RemoteCounts
	type metrics = results.Metrics
	var out []field
	of := func(name string, get func(*settings) string) {
		out = append(out, field{name, func(c *results.CellSummary) string {
			if c.Remote == nil {
				return ""
			}
			return get(c.Remote)
		}})
	}
	of("service", func(r *settings) string { return r.Service })
	of("topology", func(r *settings) string { return r.Topology })
	of("server_version", func(r *settings) string { return r.ServerVersion })
	of("persistence", func(r *settings) string { return r.Persistence })
	of("network", func(r *settings) string { return r.Network })
	of("image", func(r *settings) string { return r.Image })
	of("peer", func(r *settings) string { return r.Peer })
	of("ttl_ns", func(r *settings) string { return strconv.FormatInt(r.TTLNS, 10) })
	of("renew", func(r *settings) string { return strconv.FormatBool(r.Renew) })
	of("fence", func(r *settings) string { return strconv.FormatBool(r.Fence) })
	of("wait_min_ns", func(r *settings) string { return strconv.FormatInt(r.WaitMinNS, 10) })
	of("wait_max_ns", func(r *settings) string { return strconv.FormatInt(r.WaitMaxNS, 10) })
	of("wait_jitter", func(r *settings) string { return number(&r.WaitJitter) })
	of("acquire_timeout_ns", func(r *settings) string { return strconv.FormatInt(r.AcquireTimeoutNS, 10) })
	of("on_timeout", func(r *settings) string { return r.OnTimeout })
	of("depth", func(r *settings) string { return strconv.Itoa(r.Depth) })
	of("order", func(r *settings) string { return r.Order })
	of("keys", func(r *settings) string { return r.Keys })
	of("transfer", func(r *settings) string { return strconv.FormatBool(r.Transfer) })
	brief := func(name string, get func(*metrics) *results.Estimate) {
		out = append(out, field{name, func(c *results.CellSummary) string { return number(medianOf(get(&c.Metrics))) }})
	}
	brief("release_p50_ns", func(m *metrics) *results.Estimate { return m.ReleaseP50 })
	brief("release_p99_ns", func(m *metrics) *results.Estimate { return m.ReleaseP99 })
	brief("round_trips_per_acquire", func(m *metrics) *results.Estimate { return m.RoundTrips })
	brief("handoff_round_trips", func(m *metrics) *results.Estimate { return m.HandoffTrips })
	brief("commands_per_acquire", func(m *metrics) *results.Estimate { return m.Commands })
	brief("attempts_per_acquire", func(m *metrics) *results.Estimate { return m.Attempts })
	brief("server_cpu_ns_per_op", func(m *metrics) *results.Estimate { return m.ServerCPU })
	brief("timeouts_pct", func(m *metrics) *results.Estimate { return m.Timeouts })
	brief("lost_leases", func(m *metrics) *results.Estimate { return m.LostLeases })
	brief("orphans", func(m *metrics) *results.Estimate { return m.Orphans })
	brief("deadlocks", func(m *metrics) *results.Estimate { return m.Deadlocks })
	total := func(name string, get func(*counts) int64) {
		out = append(out, field{name + "_total", func(c *results.CellSummary) string {
			if c.RemoteCounts == nil {
				return ""
			}
			return strconv.FormatInt(get(c.RemoteCounts), 10)
		}})
	}
	total("ops", func(n *counts) int64 { return n.Ops })
	total("timeouts", func(n *counts) int64 { return n.Timeouts })
	total("gave_up", func(n *counts) int64 { return n.GaveUp })
	total("retries", func(n *counts) int64 { return n.Retries })
	total("fallbacks", func(n *counts) int64 { return n.Fallbacks })
	total("unknown", func(n *counts) int64 { return n.Unknown })
	total("errors", func(n *counts) int64 { return n.Errors })
	total("lost_leases", func(n *counts) int64 { return n.LostLeases })
	total("orphans", func(n *counts) int64 { return n.Orphans })
	total("renewals", func(n *counts) int64 { return n.Renewals })
	total("acknowledged", func(n *counts) int64 { return n.Acknowledged })
	total("unknown_write", func(n *counts) int64 { return n.UnknownWrite })
	total("deadlocks_acquire_timeout", func(n *counts) int64 { return n.DeadlockTimeout })
	total("deadlocks_ttl", func(n *counts) int64 { return n.DeadlockTTL })
	total("deadlocks_server", func(n *counts) int64 { return n.DeadlockServer })
	total("stale_holders", func(n *counts) int64 { return n.StaleHolders })
	total("overlaps", func(n *counts) int64 { return n.Overlaps })
	total("lost_updates", func(n *counts) int64 { return n.LostUpdates })
	total("token_regressions", func(n *counts) int64 { return n.TokenRegressions })
	total("damage", func(n *counts) int64 { return n.Damage })
	of("lock_note", func(r *settings) string { return r.Note })
	return out
}

// benchServer is the configuration line of a distributed repetition: benchstat keeps
// figures from different servers apart.
func benchServer(r *results.Remote) string {
	parts := []string{strings.TrimSpace(r.Service + " " + r.ServerVersion), "topology " + r.Topology}
	for _, f := range []struct{ lead, text string }{{"network ", r.Network}, {"persistence ", r.Persistence}} {
		if f.text != "" {
			parts = append(parts, f.lead+f.text)
		}
	}
	return strings.Join(parts, ", ")
}

// remoteBenchUnits are the units of remoteBenchValues that benchstat does not know.
var remoteBenchUnits = []struct{ unit, better string }{
	{"trips/op", "lower"}, {"handoff-trips", "lower"}, {"commands/op", "lower"}, {"attempts/op", "lower"},
	{"server-cpu-ns/op", "lower"}, {"timeouts-%", "lower"}, {"lost-leases", "lower"}, {"deadlocks", "lower"},
}

// remoteBenchValues are the figures of a distributed repetition.
func remoteBenchValues(s *results.Sample) []benchfmt.Value {
	r := s.Remote
	var out []benchfmt.Value
	add := func(v float64, unit string) { out = append(out, benchfmt.Value{Value: v, Unit: unit}) }
	for _, x := range []struct {
		v    *float64
		unit string
	}{{r.RoundTrips, "trips/op"}, {r.HandoffTrips, "handoff-trips"}, {r.Commands, "commands/op"}, {r.Attempts, "attempts/op"},
		{r.ServerCPUNSPerOp, "server-cpu-ns/op"}} {
		if x.v != nil {
			add(*x.v, x.unit)
		}
	}
	if n := s.Ops + r.Timeouts + r.GaveUp; n > 0 {
		add(100*float64(r.Timeouts+r.GaveUp)/float64(n), "timeouts-%")
	}
	add(float64(r.LostLeases), "lost-leases")
	if r.Transfer {
		add(float64(r.Deadlocks()), "deadlocks")
	}
	return out
}
