package cell

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"lockbench/internal/host"
	"lockbench/lock/loop"
	"lockbench/results"
)

// heap is what the runtime counts, read outside of the intervals.
type heap struct{ mallocs, collections int64 }

// readHeap does not stop the world, as runtime.ReadMemStats does: of some ten
// thousand repetitions one hung in there for good, with no goroutine running.
// Objects in a span that is in use are not counted before it is full: some
// hundreds of small ones a processor at most.
func readHeap() heap {
	m := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(m)
	n := func(i int) int64 {
		if m[i].Value.Kind() != metrics.KindUint64 {
			return 0 // a runtime that does not count it
		}
		return int64(m[i].Value.Uint64())
	}
	return heap{n(0) + n(1), n(2)}
}

// measured is what some phases of one interval brought.
type measured struct {
	iv            *interval
	which         []int // phases, in order
	before, after heap
	elapsed       int64 // ticks, of these phases together
	stop          int64 // ticks: end of the last one
	used          usage // meanwhile
	perWorker     []int64
	phases        [][]int64 // operations by phase and worker
	first, left   []int64   // ticks: when each worker began the interval, and had left it
	sum           phaseCount
}

// collect gathers the phases for which want is true, of an interval that has
// ended. Phases of settling belong to the warm-up.
func (c *child) collect(iv *interval, before, after heap, want func(phase) bool) *measured {
	m := &measured{iv: iv, before: before, after: after, perWorker: make([]int64, len(c.workers))}
	for k, p := range iv.phases {
		if !want(p) {
			continue
		}
		m.which = append(m.which, k)
		m.elapsed += iv.from(k+1) - iv.from(k)
		m.stop = iv.from(k + 1)
		m.used = m.used.plus(iv.uses[k+1].minus(iv.uses[k]))
		ops := make([]int64, len(c.workers))
		for i, w := range c.workers {
			n := w.phases[k]
			ops[i] = n.ops
			m.perWorker[i] += n.ops
			m.sum.ops += n.ops
			m.sum.tryFailed += n.tryFailed
			m.sum.timedOut += n.timedOut
			m.sum.reads += n.reads
			m.sum.clockReads += n.clockReads
		}
		m.phases = append(m.phases, ops)
	}
	if len(m.which) == 0 {
		return nil
	}
	for _, w := range c.workers {
		m.first, m.left = append(m.first, w.first), append(m.left, w.left)
	}
	return m
}

// start returns when the first of the phases began, in ticks.
func (m *measured) start() int64 { return m.iv.from(m.which[0]) }

// busiest returns the index in which of the phase with most active workers,
// the longest of these.
func (m *measured) busiest() int {
	best := 0
	rank := func(i int) (int, int64) {
		k := m.which[i]
		return m.iv.phases[k].active, m.iv.from(k+1) - m.iv.from(k)
	}
	for i := range m.which {
		if a, d := rank(i); i > 0 {
			if b, e := rank(best); a > b || a == b && d > e {
				best = i
			}
		}
	}
	return best
}

// idle returns the largest number of active workers that did nothing in one of
// the phases, and which phase that was.
func (m *measured) idle() (workers, phase int) {
	for i, k := range m.which {
		n := 0
		for _, ops := range m.phases[i][:m.iv.phases[k].active] {
			if ops == 0 {
				n++
			}
		}
		if n > workers {
			workers, phase = n, i
		}
	}
	return workers, phase
}

// drain returns how long after the stop of the interval the last worker left,
// in ticks.
func (m *measured) drain() int64 { return max(0, slices.Max(m.left)-m.iv.from(len(m.iv.phases))) }

// measure runs warm-up, throughput and probe and returns the record.
func (c *child) measure(before *float64) (*results.Sample, error) {
	defer func() {
		for _, f := range c.feeds {
			close(f)
		}
	}()
	ticks0, ticksOK := host.CPUTicks()
	own0 := readUsage()
	warm, through, probe, err := c.intervals()
	if err != nil {
		return nil, err
	}
	s := c.record(warm, through, probe)
	if probe != nil {
		c.latencies(s, probe)
		c.order(s, probe)
	}
	if ticks1, ok := host.CPUTicks(); ok && ticksOK {
		c.others(s, ticks1.Minus(ticks0), readUsage().minus(own0))
	}
	c.coherenceAfter(s, before)
	c.judge(s, warm, through, probe)
	c.doubt(s, through, probe)
	s.PeakRSSBytes = peakRSS()
	return s, nil
}

// tickNS is the unit of the kernel's processor times.
const tickNS = 10_000_000

// others fills in what the processors did meanwhile beside this process: the
// hypervisor's part, and that of other programs.
func (c *child) others(s *results.Sample, t host.Ticks, own usage) {
	if t.Total == 0 {
		return
	}
	c.stealTicks = t.Steal
	steal := 100 * float64(t.Steal) / float64(t.Total)
	s.StealPct = &steal
	busy := float64(t.Busy) - float64(own.cpuNS)/tickNS
	c.otherTicks = max(0, busy)
	pct := 100 * c.otherTicks / float64(t.Total)
	s.OthersPct = &pct
}

// intervals runs the workers: in one go with a duration, in three with fixed
// work, where each ends when the slowest worker is done. warm and probe may
// be nil.
func (c *child) intervals() (warm, through, probe *measured, err error) {
	n := len(c.workers)
	warmUp := func(p phase) bool { return p.settle }
	probing := func(p phase) bool { return !p.settle && p.sample }
	plain := func(p phase) bool { return !p.settle && !p.sample }
	var first []phase
	if c.spec.WarmupNS > 0 {
		first = []phase{{length: c.clk.ToTicks(time.Duration(c.spec.WarmupNS)), active: n, warm: true, settle: true, need: n}}
	}
	if c.spec.Ops > 0 {
		for _, x := range []struct {
			quota int64
			p     []phase
			want  func(phase) bool
			to    **measured
		}{
			{0, first, warmUp, &warm},
			{c.spec.Ops, []phase{{active: n}}, plain, &through},
			{c.spec.Ops, []phase{{active: n, sample: true}}, probing, &probe},
		} {
			if len(x.p) == 0 {
				continue
			}
			if x.p[0].sample {
				c.since = c.prot[0].Count()
			}
			iv := newInterval(c, x.quota, x.p...)
			h0, h1, err := c.run(iv)
			if err != nil {
				return nil, nil, nil, err
			}
			*x.to = c.collect(iv, h0, h1, x.want)
		}
		return warm, through, probe, nil
	}
	before := 0
	if len(first) > 0 {
		if ps := c.spec.Load.Phases; len(ps) > 0 {
			first[0].active = c.stages(1, false, n)[0].active
			first[0].need = first[0].active
		}
		before = first[0].active
	}
	mid := c.stages(c.clk.ToTicks(time.Duration(c.spec.DurationNS)), false, before)
	var last []phase
	if c.spec.ProbeNS > 0 {
		last = c.stages(c.clk.ToTicks(time.Duration(c.spec.ProbeNS)), true, mid[len(mid)-1].active)
	}
	iv := newInterval(c, 0, slices.Concat(first, mid, last)...)
	h0, h1, err := c.run(iv)
	if err != nil {
		return nil, nil, nil, err
	}
	return c.collect(iv, h0, h1, warmUp), c.collect(iv, h0, h1, plain), c.collect(iv, h0, h1, probing), nil
}

// Times of the hang guard and the signs of life.
const (
	heartbeat  = time.Second
	guardCheck = 100 * time.Millisecond
)

// run runs one interval and returns the heap's counters before and after. It
// returns errStopped, a hangError or a worker's error; after the latter two
// workers may still be busy.
func (c *child) run(iv *interval) (before, after heap, err error) {
	c.send(Message{Type: MsgStep, Name: iv.stage()})
	before = readHeap()
	iv.done.Add(len(c.workers))
	for _, f := range c.feeds {
		f <- iv
	}
	done := make(chan struct{})
	go func() { iv.done.Wait(); close(done) }()
	if err := c.guard(iv, done); err != nil {
		return before, after, err
	}
	return before, readHeap(), nil
}

// guard waits for the end of an interval. It ends phases whose end no worker
// noticed, sends signs of life, and calls a hang when nobody progressed for
// the time-out.
func (c *child) guard(iv *interval, done <-chan struct{}) error {
	last, lastAt, beat := c.progress(), time.Now(), time.Now()
	for {
		wake := guardCheck
		if iv.open.Load() {
			if left, ok := iv.left(c.clk.Now()); ok {
				wake = max(time.Millisecond, min(wake, time.Duration(c.clk.NS(left))+200*time.Microsecond))
			}
		}
		timer := time.NewTimer(wake)
		select {
		case <-done:
			timer.Stop()
			if iv.aborted.Load() {
				return errStopped
			}
			select {
			case err := <-c.failure:
				return err
			default:
				return nil
			}
		case <-c.stop:
			iv.abort()
		case <-timer.C:
		}
		timer.Stop()
		if iv.open.Load() {
			iv.check(c.clk.Now())
		}
		now := time.Now()
		if p := c.progress(); p != last {
			last, lastAt = p, now
		} else if d := now.Sub(lastAt); d > time.Duration(c.spec.TimeoutNS) {
			return c.hang(iv, d)
		}
		if now.Sub(beat) >= heartbeat && now.Sub(lastAt) < heartbeat {
			beat = now
			c.send(Message{Type: MsgStep, Name: iv.stage(), Ops: last})
		}
	}
}

// progress grows whenever a worker gets anywhere.
func (c *child) progress() int64 {
	var n int64
	for _, w := range c.workers {
		n += w.progress.Load()
	}
	for _, p := range c.prot {
		n += int64(p.CountNow())
	}
	return n
}

func (c *child) hang(iv *interval, d time.Duration) error {
	var per []string
	for _, w := range c.workers[:min(len(c.workers), 16)] {
		per = append(per, fmt.Sprint(w.progress.Load()))
	}
	return &hangError{fmt.Sprintf("no worker progressed for %v in the %s (progress by worker: %s)",
		d.Round(time.Millisecond), iv.stage(), strings.Join(per, " "))}
}

// send sends a message that may be lost: if nobody listens, listen will see it.
func (c *child) send(m Message) { _ = c.conn.Send(m) }

// judge compares the lock's own counter with the acquisitions.
func (c *child) judge(s *results.Sample, intervals ...*measured) {
	if c.info.Control {
		return
	}
	for _, w := range c.workers {
		f := w.sec.Found()
		if f.Count == 0 {
			continue
		}
		if s.Violations == 0 {
			s.Reason = describe(w.id, f)
		}
		s.Violations += f.Count
	}
	if s.Violations == 0 {
		c.judgeCount(s, intervals)
	}
	if c.open {
		s.Violations++
		s.Reason = "exclusion: while one worker held the lock, another got it (staged before the intervals)"
	}
	if s.Violations == 0 && len(c.workers) == 1 {
		c.judgeRefusals(s, intervals)
	}
	if s.Violations > 0 {
		s.Outcome = results.OutcomeViolation
	}
}

// judgeRefusals: with one worker the lock is free at each arrival, so that
// nothing may be refused.
func (c *child) judgeRefusals(s *results.Sample, intervals []*measured) {
	for _, m := range intervals {
		if m != nil {
			s.Violations += m.sum.tryFailed + m.sum.timedOut
		}
	}
	if s.Violations > 0 {
		s.Reason = "TryLock or LockFor failed on a free lock, with nobody else there"
	}
}

func describe(id int, f loop.Finding) string {
	switch {
	case !f.AtExit:
		return fmt.Sprintf("exclusion: worker %d entered while worker %d was inside (lock %d)", id, int(f.Other)-1, f.Lock)
	case f.Other == 0:
		return fmt.Sprintf("exclusion: while worker %d was inside another worker entered and left (lock %d)", id, f.Lock)
	}
	return fmt.Sprintf("exclusion: while worker %d was inside worker %d entered (lock %d)", id, int(f.Other)-1, f.Lock)
}

// judgeCount: each acquisition adds 1 to a plain counter that only the lock
// protects; read sections that are shared do not count.
func (c *child) judgeCount(s *results.Sample, intervals []*measured) {
	var want, got int64
	for _, m := range intervals {
		if m == nil {
			continue
		}
		want += m.sum.ops
		if c.shared {
			want -= m.sum.reads
		}
	}
	for _, p := range c.prot {
		got += int64(p.Count())
	}
	if got != want {
		s.Violations = max(got-want, want-got)
		s.Reason = fmt.Sprintf("exclusion: lost updates: %d acquisitions, but the counter inside says %d", want, got)
	}
}
