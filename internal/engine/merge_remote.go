package engine

import (
	"fmt"
	"slices"

	"lockbench/results"
)

// mergeRemote merges what only distributed locks have. ops is that of all children.
func mergeRemote(in []*results.Sample, ops int64) (*results.Remote, error) {
	// A child that failed has none.
	in = slices.DeleteFunc(slices.Clone(in), func(s *results.Sample) bool { return s.Remote == nil })
	if len(in) == 0 {
		return nil, nil
	}
	m := *in[0].Remote
	var release *results.Hist
	counts := make([]int64, results.MaxHandoffTrips+1)
	for i, s := range in {
		r := s.Remote
		var err error
		if release, err = addLatency(release, r.Release); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
		for k, n := range r.HandoffTripCounts {
			counts[min(k, results.MaxHandoffTrips)] += n
		}
		if i == 0 {
			continue
		}
		for _, p := range []struct{ to, from *int64 }{
			{&m.Timeouts, &r.Timeouts}, {&m.GaveUp, &r.GaveUp}, {&m.Retries, &r.Retries}, {&m.Fallbacks, &r.Fallbacks},
			{&m.Unknown, &r.Unknown}, {&m.Errors, &r.Errors}, {&m.LostLeases, &r.LostLeases}, {&m.Orphans, &r.Orphans},
			{&m.Renewals, &r.Renewals}, {&m.Acknowledged, &r.Acknowledged}, {&m.UnknownWrite, &r.UnknownWrite},
			{&m.DeadlockTTL, &r.DeadlockTTL}, {&m.DeadlockTimeout, &r.DeadlockTimeout}, {&m.DeadlockServer, &r.DeadlockServer},
			{&m.StaleHolders, &r.StaleHolders}, {&m.CommandsSum, &r.CommandsSum}, {&m.TripsSum, &r.TripsSum},
			{&m.AttemptsSum, &r.AttemptsSum}, {&m.AcquiredSum, &r.AcquiredSum}, {&m.ClientCPUNS, &r.ClientCPUNS}, {&m.Overlaps, &r.Overlaps}, {&m.LostUpdates, &r.LostUpdates}, {&m.TokenRegressions, &r.TokenRegressions}, {&m.Damage, &r.Damage},
		} {
			*p.to += *p.from
		}
	}
	var err error
	if m.Release, err = latencyOf(release, firstLatency(in, func(s *results.Sample) *results.Latency { return s.Remote.Release })); err != nil {
		return nil, err
	}
	m.HandoffTrips, m.HandoffTripCounts = results.MedianTrips(counts), nil
	if m.HandoffTrips != nil {
		m.HandoffTripCounts = counts
	}
	m.Means(ops)
	return &m, nil
}
