package cell

import (
	"sync"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/lock/loop"
	"lockbench/results"
)

// maxShards bounds the histograms of a cell, so that memory does not grow with
// thousands of workers. Workers that share one meet outside the section and
// rarely.
const maxShards = 16

// hists is the distributions of a probe interval.
type hists struct {
	shards []*shard
}

type shard struct {
	_                               [lock.CacheLine]byte
	mu                              sync.Mutex
	acquire, handoff, inside, think *results.Hist
	arrivals, contended             int64 // weighted
}

func newHists(workers int) *hists {
	h := &hists{}
	for range min(workers, maxShards) {
		h.shards = append(h.shards, &shard{
			acquire: results.NewHist(), handoff: results.NewHist(),
			inside: results.NewHist(), think: results.NewHist(),
		})
	}
	return h
}

func (h *hists) record(worker int, clk clock.Clock, obs []loop.Obs) {
	s := h.shards[worker%len(h.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range obs {
		weight := int64(o.Weight)
		s.acquire.Record(clk.NS(o.Acquire), weight)
		s.arrivals += weight
		if o.Contended {
			s.contended += weight
		}
		for _, x := range []struct {
			h     *results.Hist
			ticks int64
		}{{s.handoff, o.Handoff}, {s.inside, o.Inside}, {s.think, o.Think}} {
			if x.ticks >= 0 {
				x.h.Record(clk.NS(x.ticks), weight)
			}
		}
	}
}

// merged returns all shards in one. Only the caller uses h.
func (h *hists) merged() *shard {
	m := h.shards[0]
	for _, s := range h.shards[1:] {
		m.acquire.Merge(s.acquire)
		m.handoff.Merge(s.handoff)
		m.inside.Merge(s.inside)
		m.think.Merge(s.think)
		m.arrivals += s.arrivals
		m.contended += s.contended
	}
	return m
}
