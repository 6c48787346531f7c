package cell

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"lockbench/internal/host"
	"lockbench/lock/loop"
	"lockbench/results"
)

// heap is what the runtime counts. Reading it stops the world, so it happens
// outside of the intervals.
type heap struct{ mallocs, collections int64 }

func readHeap() heap {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap{int64(m.Mallocs), int64(m.NumGC)}
}

// measured is what a stretch of phases of one interval brought.
type measured struct {
	iv            *interval
	from, to      int // phases
	before, after heap
	start, stop   int64 // ticks
	used          usage // meanwhile
	perWorker     []int64
	phases        []int64 // operations a phase
	first, left   []int64 // ticks: when each worker began the interval, and had left it
	sum           phaseCount
}

// slice collects phases from to to-1 of an interval that has ended.
func (c *child) slice(iv *interval, before, after heap, from, to int) *measured {
	m := &measured{iv: iv, from: from, to: to, before: before, after: after, start: iv.from(from), stop: iv.from(to)}
	m.used = iv.uses[to].minus(iv.uses[from])
	m.phases = make([]int64, to-from)
	for _, w := range c.workers {
		var ops int64
		for k := from; k < to; k++ {
			p := w.phases[k]
			m.phases[k-from] += p.ops
			ops += p.ops
			m.sum.tryFailed += p.tryFailed
			m.sum.timedOut += p.timedOut
			m.sum.reads += p.reads
			m.sum.clockReads += p.clockReads
		}
		m.sum.ops += ops
		m.perWorker = append(m.perWorker, ops)
		m.first, m.left = append(m.first, w.first), append(m.left, w.left)
	}
	return m
}

// elapsed returns the length in ticks.
func (m *measured) elapsed() int64 { return m.stop - m.start }

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
	steal0, total0, stealOK := host.StealTicks()
	warm, through, probe, err := c.intervals()
	if err != nil {
		return nil, err
	}
	s := c.record(warm, through, probe)
	if probe != nil {
		c.latencies(s, probe)
		c.order(s, probe)
	}
	if steal1, total1, ok := host.StealTicks(); ok && stealOK && total1 > total0 {
		pct := 100 * float64(steal1-steal0) / float64(total1-total0)
		s.StealPct = &pct
	}
	c.coherenceAfter(s, before)
	c.judge(s, warm, through, probe)
	c.doubt(s, through, probe)
	s.PeakRSSBytes = peakRSS()
	return s, nil
}

// intervals runs the workers: in one go with a duration, in three with fixed
// work, where each ends when the slowest worker is done. warm and probe may
// be nil.
func (c *child) intervals() (warm, through, probe *measured, err error) {
	n := len(c.workers)
	var first []phase
	if c.spec.WarmupNS > 0 {
		first = []phase{{length: c.clk.ToTicks(time.Duration(c.spec.WarmupNS)), active: n, warm: true}}
	}
	if c.spec.Ops > 0 {
		for _, x := range []struct {
			quota int64
			p     []phase
			to    **measured
		}{
			{0, first, &warm},
			{c.spec.Ops, []phase{{active: n}}, &through},
			{c.spec.Ops, []phase{{active: n, sample: true}}, &probe},
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
			*x.to = c.slice(iv, h0, h1, 0, 1)
		}
		return warm, through, probe, nil
	}
	mid := c.stages(c.clk.ToTicks(time.Duration(c.spec.DurationNS)), false)
	var last []phase
	if c.spec.ProbeNS > 0 {
		last = c.stages(c.clk.ToTicks(time.Duration(c.spec.ProbeNS)), true)
	}
	if len(first) > 0 {
		first[0].active = mid[0].active
	}
	a, b := len(first), len(first)+len(mid)
	iv := newInterval(c, 0, slices.Concat(first, mid, last)...)
	h0, h1, err := c.run(iv)
	if err != nil {
		return nil, nil, nil, err
	}
	if a > 0 {
		warm = c.slice(iv, h0, h1, 0, a)
	}
	through = c.slice(iv, h0, h1, a, b)
	if len(last) > 0 {
		probe = c.slice(iv, h0, h1, b, len(iv.phases))
	}
	return warm, through, probe, nil
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
	if s.Violations > 0 {
		s.Outcome = results.OutcomeViolation
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
