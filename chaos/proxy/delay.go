package proxy

import (
	"math/rand/v2"
	"time"
)

// delay says how long chunks are under way: latency, give or take up to jitter, evenly, and never
// less than nothing.
type delay struct {
	latency time.Duration
	jitter  time.Duration
	seed    uint64
	since   uint64 // counts the calls of Slow: a new one begins its draws anew
}

func (d delay) on() bool { return d.latency > 0 || d.jitter > 0 }

// draw returns the delay of one chunk.
func (d delay) draw(r *rand.Rand) time.Duration {
	w := d.latency
	if d.jitter > 0 {
		w += time.Duration((2*r.Float64() - 1) * float64(d.jitter))
	}
	return max(0, w)
}

// draws is the sequence of delays of one pipe. It depends on the seed, the proxy's number, the
// connection's number and the direction, and on nothing else.
type draws struct {
	stream uint64
	since  uint64
	rand   *rand.Rand
}

func (s *draws) next(d delay) time.Duration {
	if s.rand == nil || s.since != d.since {
		s.since = d.since
		s.rand = rand.New(rand.NewPCG(d.seed, s.stream))
	}
	return d.draw(s.rand)
}

// stream numbers the pipes of a set; below 2^20 proxies and 2^43 connections they differ.
func stream(proxy, conn, dir int) uint64 {
	return uint64(proxy)<<44 | uint64(conn)<<1 | uint64(dir)
}
