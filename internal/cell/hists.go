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
	late                            *results.Hist // open loop: the harness's own lateness
	insideNS, thinkNS               mean
	arrivals, contended             int64 // weighted
}

// mean is a weighted mean.
type mean struct{ sum, weight float64 }

func (m *mean) add(v, weight int64) {
	m.sum += float64(v) * float64(weight)
	m.weight += float64(weight)
}

func (m *mean) merge(o mean) { m.sum += o.sum; m.weight += o.weight }

// value returns the mean, nil without values.
func (m mean) value() *float64 {
	if m.weight == 0 {
		return nil
	}
	v := m.sum / m.weight
	return &v
}

func newHists(workers int) *hists {
	h := &hists{}
	for range min(workers, maxShards) {
		h.shards = append(h.shards, &shard{
			acquire: results.NewHist(), handoff: results.NewHist(),
			inside: results.NewHist(), think: results.NewHist(), late: results.NewHist(),
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
		s.arrivals += weight
		if o.Inside >= 0 {
			s.insideNS.add(clk.NS(o.Inside), weight)
		}
		if o.Think >= 0 {
			s.thinkNS.add(clk.NS(o.Think), weight)
		}
		if o.Contended {
			s.contended += weight
		}
		for _, x := range []struct {
			h     *results.Hist
			ticks int64
		}{{s.acquire, o.Acquire}, {s.handoff, o.Handoff}, {s.inside, o.Inside}, {s.think, o.Think}, {s.late, o.Late}} {
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
		m.late.Merge(s.late)
		m.insideNS.merge(s.insideNS)
		m.thinkNS.merge(s.thinkNS)
		m.arrivals += s.arrivals
		m.contended += s.contended
	}
	return m
}
