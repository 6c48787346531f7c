package loop

import "sync/atomic"

// A section holds some samples until the cell takes them out between two
// batches; a full buffer ends the batch. With thousands of workers they hold
// fewer, so that all buffers together stay at 3 MiB.
const (
	obsCap   = 256
	obsLeast = 16
	obsOfAll = 1 << 16
)

// rampOps is how many samples a worker takes at stride 1. The stride doubles
// then, and again each time that the number of samples has doubled, up to
// Config.Every. A worker that gets few acquisitions, because
// the lock starves it, has each of them sampled; samples carry the stride as
// their weight.
const rampOps = 64

// Obs is one sampled operation. Times are in ticks; -1 = not measured.
type Obs struct {
	Acquire   int64 // arrival to acquisition (open loop: planned arrival); -1 for a failed try
	Handoff   int64 // release by the last holder to acquisition; only if the arrival preceded the release
	Inside    int64
	Think     int64
	Late      int64 // open loop: from the planned arrival until the harness was there, if it had waited for it
	Weight    int32
	Contended bool // found the section taken, or was overtaken before it got in
	Open      bool // the stop came first: Acquire is a lower bound
}

// sampling is the operation being sampled.
type sampling struct {
	arrival  int64 // open loop: the planned one
	came     int64 // when the worker really was there
	acquired int64
	left     int64
	count    uint64 // acquisitions of the lock at the arrival
	taken    bool
	obs      Obs
}

// Reset begins a new interval: strides, samples and waits are forgotten,
// findings are kept.
func (s *Section) Reset() {
	s.obs = s.obs[:0]
	s.openWaits = s.openWaits[:0]
	s.sampled, s.left, s.weight = 0, 1, 1
}

// Tick counts down to the next sampled operation and reports whether this is
// it. The first operation of an interval is sampled.
func (s *Section) Tick() bool {
	s.left--
	return s.left == 0
}

// Arrive stamps the arrival of a sampled operation.
//
//go:noinline
func (s *Section) Arrive() { s.arrive(s.prot) }

func (s *Section) arrive(p *Protected) {
	c := &s.now
	if !raceEnabled {
		// A look at the lock's data from outside: the section is the holder's,
		// and its stores are plain. Both words are aligned and of word size, so the
		// reading is one of the values written (go.dev/ref/mem,
		// "Implementation restrictions"), which is all that is asked of it.
		c.taken = p.Owner() != 0
		c.count = atomic.LoadUint64(&p.Passes)
	}
	if s.cfg.Meets {
		// Ask the holders for release stamps. They read this word on their way
		// out, so a clock is read in the section only while a sampled operation
		// is under way. Not only if the section is taken: between a wake-up and
		// the section the lock is held, and the owner word does not show it.
		atomic.AddUint32(&p.want, 1)
	}
	c.came = s.Now()
	c.arrival = c.came
}

// Acquired stamps the acquisition; call it between Lock and Enter.
//
//go:noinline
func (s *Section) Acquired() { s.acquired(s.prot) }

func (s *Section) acquired(p *Protected) {
	c := &s.now
	c.acquired = s.Now()
	c.obs = Obs{
		Acquire: c.acquired - c.arrival,
		Handoff: -1, Inside: -1, Think: -1, Late: s.gen.late,
		Weight:    s.weight,
		Contended: !raceEnabled && (c.taken || p.Passes != c.count),
	}
	if !s.cfg.Meets {
		return
	}
	atomic.AddUint32(&p.want, ^uint32(0))
	// The stamp is the lock's data: a holder wrote it inside. It is the
	// release that let this worker in only if that holder was the last one, and
	// a handoff only if this worker was there before.
	if p.stampCount == p.Passes && p.stamped > c.came {
		c.obs.Handoff = c.acquired - p.stamped
	}
}

// OpenWait notes a wait that the stop cut short; the cell closes it with the
// instant of the stop.
//
//go:noinline
func (s *Section) OpenWait() {
	o := s.now.obs
	o.Acquire, o.Open, o.Handoff = s.now.arrival, true, -1
	// It was still waiting: for a lock on its way to somebody, perhaps, with
	// nobody in the section and no acquisition meanwhile.
	o.Contended = !raceEnabled
	s.openWaits = append(s.openWaits, o)
	s.next()
}

// Stamp leaves a release stamp for a waiting sampled worker; call it at the
// end of the section, before Exit.
//
//go:noinline
func (s *Section) Stamp() { s.stamp(s.prot) }

func (s *Section) stamp(p *Protected) {
	p.stampCount = p.Passes
	p.stamped = s.Now()
}

// Leaving stamps the end of the sampled operation's section.
//
//go:noinline
func (s *Section) Leaving() {
	s.now.left = s.Now()
	s.now.obs.Inside = s.now.left - s.now.acquired
}

// Done ends the sampled operation, after its think time, and reports whether
// there is room for another sample: if not, the batch ends.
//
//go:noinline
func (s *Section) Done() bool {
	if s.idle {
		s.now.obs.Think = s.Now() - s.now.left
	}
	s.obs = append(s.obs, s.now.obs)
	s.next()
	return len(s.obs) < cap(s.obs)
}

// Abandon ends a sampled operation that failed the exclusion check.
func (s *Section) Abandon() { s.next() }

// next sets the distance to the next sampled operation and what it weighs.
func (s *Section) next() {
	s.sampled++
	stride := int32(1)
	for n := s.sampled / rampOps; n > 0 && stride < int32(s.cfg.Every); n >>= 1 {
		stride *= 2
	}
	if stride > int32(s.cfg.Every) {
		stride = int32(s.cfg.Every)
	}
	s.weight = stride
	s.left = stride
	if stride > 2 && len(s.cfg.Jitter) > 0 {
		j := s.cfg.Jitter[s.jpos&uint32(len(s.cfg.Jitter)-1)]
		s.jpos++
		s.left += j * stride / int32(s.cfg.Every)
		if s.left < 1 {
			s.left = 1
		}
	}
}

// Take returns the samples so far and forgets them; the slice is valid until
// the next batch.
func (s *Section) Take() []Obs {
	o := s.obs
	s.obs = s.obs[:0]
	return o
}

// OpenWaits returns and forgets the sampled waits that a stop cut short; their
// Acquire is the arrival stamp. The slice is valid until the next batch.
func (s *Section) OpenWaits() []Obs {
	o := s.openWaits
	s.openWaits = s.openWaits[:0]
	return o
}
