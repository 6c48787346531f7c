package results

import "strings"

// RemoteSettings is what all repetitions of a distributed lock's cell have in common:
// its servers and its options, named as in Remote. It is comparable.
type RemoteSettings struct {
	Service       string `json:"service"`
	Topology      string `json:"topology"`
	Network       string `json:"network,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	Persistence   string `json:"persistence,omitempty"`
	Image         string `json:"image,omitempty"`
	Kind          string `json:"kind,omitempty"`
	Peer          string `json:"peer,omitempty"`
	Note          string `json:"note,omitempty"`

	TTLNS            int64   `json:"ttl_ns"`
	Renew            bool    `json:"renew"`
	Fence            bool    `json:"fence"`
	WaitMinNS        int64   `json:"wait_min_ns"`
	WaitMaxNS        int64   `json:"wait_max_ns"`
	WaitJitter       float64 `json:"wait_jitter"`
	AcquireTimeoutNS int64   `json:"acquire_timeout_ns"`
	OnTimeout        string  `json:"on_timeout"`
	Depth            int     `json:"depth"` // at least 1
	Order            string  `json:"order,omitempty"`
	Keys             string  `json:"keys,omitempty"`
	Transfer         bool    `json:"transfer,omitempty"`
}

// Settings is r without what was measured.
func (r *Remote) Settings() RemoteSettings {
	return RemoteSettings{
		Service: r.Service, Topology: r.Topology, Network: r.Network, ServerVersion: r.ServerVersion,
		Persistence: r.Persistence, Image: r.Image, Kind: r.Kind, Peer: r.Peer, Note: r.Note,
		TTLNS: r.TTLNS, Renew: r.Renew, Fence: r.Fence, WaitMinNS: r.WaitMinNS, WaitMaxNS: r.WaitMaxNS, WaitJitter: r.WaitJitter,
		AcquireTimeoutNS: r.AcquireTimeoutNS, OnTimeout: r.OnTimeout, Depth: max(1, r.Depth), Order: r.Order, Keys: r.Keys, Transfer: r.Transfer,
	}
}

// RemoteCounts is what the repetitions of a distributed lock's cell counted, added up,
// whatever their outcome. The names are those of Remote.
type RemoteCounts struct {
	Reps int   `json:"reps"` // that counted
	Ops  int64 `json:"ops"`  // sections run under the lock

	Timeouts     int64 `json:"timeouts"`
	GaveUp       int64 `json:"gave_up"`
	Retries      int64 `json:"retries"`
	Fallbacks    int64 `json:"fallbacks"`
	Unknown      int64 `json:"unknown"`
	Errors       int64 `json:"errors"`
	LostLeases   int64 `json:"lost_leases"`
	Orphans      int64 `json:"orphans"`
	Renewals     int64 `json:"renewals"`
	Acknowledged int64 `json:"acknowledged"`
	UnknownWrite int64 `json:"unknown_write"`

	DeadlockTTL     int64 `json:"deadlocks_ttl"`
	DeadlockTimeout int64 `json:"deadlocks_acquire_timeout"`
	DeadlockServer  int64 `json:"deadlocks_server"`

	StaleHolders int64 `json:"stale_holders"`

	Overlaps         int64 `json:"overlaps"`
	LostUpdates      int64 `json:"lost_updates"`
	TokenRegressions int64 `json:"token_regressions"`
	Damage           int64 `json:"damage"`
}

// add counts a repetition. A sum that would pass 2^63 stays at its end.
func (c *RemoteCounts) add(s *Sample) {
	c.Reps++
	r := s.Remote
	for _, p := range []struct {
		to *int64
		n  int64
	}{
		{&c.Ops, s.Ops}, {&c.Timeouts, r.Timeouts}, {&c.GaveUp, r.GaveUp}, {&c.Retries, r.Retries}, {&c.Fallbacks, r.Fallbacks},
		{&c.Unknown, r.Unknown}, {&c.Errors, r.Errors}, {&c.LostLeases, r.LostLeases}, {&c.Orphans, r.Orphans}, {&c.Renewals, r.Renewals},
		{&c.Acknowledged, r.Acknowledged}, {&c.UnknownWrite, r.UnknownWrite},
		{&c.DeadlockTTL, r.DeadlockTTL}, {&c.DeadlockTimeout, r.DeadlockTimeout}, {&c.DeadlockServer, r.DeadlockServer},
		{&c.StaleHolders, r.StaleHolders},
		{&c.Overlaps, r.Overlaps}, {&c.LostUpdates, r.LostUpdates}, {&c.TokenRegressions, r.TokenRegressions}, {&c.Damage, r.Damage},
	} {
		if *p.to += p.n; *p.to < 0 {
			*p.to = maxWeight
		}
	}
}

// NoLock is how many acquisitions ended without the lock by lack of time.
func (c *RemoteCounts) NoLock() int64 { return c.Timeouts + c.GaveUp }

// DispatchRemote is Sample.Dispatch of distributed locks. A Section has them alone, or none.
const DispatchRemote = "remote"

// Place parts what is behind the lock in a cell's name: the part "topology=NAME" tells
// rows of one section apart, as the lock does, and all else is what the rows of a
// section have in common. topology is "" where it is not in the name, because it is the
// service's default, or the lock has none.
func Place(cell, lock string) (variant, topology string) {
	const key = "/topology="
	variant = strings.TrimPrefix(cell, lock)
	before, name, ok := strings.Cut(variant, key)
	if !ok {
		return variant, ""
	}
	name, after, more := strings.Cut(name, "/")
	if more {
		after = "/" + after
	}
	return before + after, name
}

// RowName is the lock of a cell, with the topology if it is in the cell's name:
// "redis (redis-aof)".
func RowName(cell, lock string) string {
	if _, topology := Place(cell, lock); topology != "" && topology != lock {
		return lock + " (" + topology + ")"
	}
	return lock
}
