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

// measured is what one interval brought.
type measured struct {
	iv                  *interval
	before, after       heap
	clockReads          int64
	perWorker           []int64
	first, left         []int64 // ticks: when each worker began, and had left
	phases              []int64 // operations a phase
	tryFailed, timedOut int64
	reads               int64
}

func (m *measured) ops() int64 {
	var n int64
	for _, x := range m.perWorker {
		n += x
	}
	return n
}

// drain returns how long after the stop the last worker left, in ticks.
func (m *measured) drain() int64 {
	return max(0, slices.Max(m.left)-m.iv.stopTicks())
}

// measure runs the three intervals and returns the record.
func (c *child) measure(before *float64) (*results.Sample, error) {
	defer func() {
		for _, f := range c.feeds {
			close(f)
		}
	}()
	steal0, total0, stealOK := host.StealTicks()
	var warm *measured
	if c.spec.WarmupNS > 0 {
		m, err := c.run("warm-up", newInterval(c, time.Duration(c.spec.WarmupNS), 0, false))
		if err != nil {
			return nil, err
		}
		warm = m
	}
	through, err := c.run("throughput", newInterval(c, time.Duration(c.spec.DurationNS), c.spec.Ops, false))
	if err != nil {
		return nil, err
	}
	since := c.prot[0].Count()
	var probe *measured
	if c.spec.ProbeNS > 0 || c.spec.Ops > 0 {
		probe, err = c.run("probe", newInterval(c, time.Duration(c.spec.ProbeNS), c.spec.Ops, true))
		if err != nil {
			return nil, err
		}
	}
	s := c.record(warm, through, probe)
	if probe != nil {
		c.latencies(s, probe)
		c.order(s, since)
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

// Times of the hang guard and the signs of life.
const (
	heartbeat  = time.Second
	guardCheck = 100 * time.Millisecond
)

// run runs one interval. It returns errStopped, a hangError or a worker's
// error; the workers are then still busy.
func (c *child) run(name string, iv *interval) (*measured, error) {
	c.send(Message{Type: MsgStep, Name: name})
	m := &measured{iv: iv, before: readHeap()}
	iv.done.Add(len(c.workers))
	for _, f := range c.feeds {
		f <- iv
	}
	done := make(chan struct{})
	go func() { iv.done.Wait(); close(done) }()
	if err := c.guard(name, iv, done); err != nil {
		return nil, err
	}
	m.after = readHeap()
	m.phases = make([]int64, len(iv.active))
	for _, w := range c.workers {
		var n int64
		for k, x := range w.ops {
			m.phases[k] += x
			n += x
		}
		m.perWorker = append(m.perWorker, n)
		m.first, m.left = append(m.first, w.first), append(m.left, w.left)
		m.clockReads += w.sec.Reads() - w.reads0
		a, b, r := w.sec.Mixed()
		m.tryFailed += a
		m.timedOut += b
		m.reads += r
	}
	return m, nil
}

// guard waits for the end of an interval. It ends phases whose end no worker
// noticed, sends signs of life, and calls a hang when nobody progressed for
// the time-out.
func (c *child) guard(name string, iv *interval, done <-chan struct{}) error {
	last, lastAt, beat := c.progress(), time.Now(), time.Now()
	for {
		wake := guardCheck
		if iv.open.Load() && !iv.stopped() && iv.quota == 0 {
			left := time.Duration(c.clk.NS(iv.start + iv.ends[min(int(iv.cur.Load()), len(iv.ends)-1)] - c.clk.Now()))
			wake = max(100*time.Microsecond, min(wake, left+200*time.Microsecond))
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
			return c.hang(name, iv, d)
		}
		if now.Sub(beat) >= heartbeat && now.Sub(lastAt) < heartbeat {
			beat = now
			c.send(Message{Type: MsgStep, Name: name, Ops: last})
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

func (c *child) hang(name string, iv *interval, d time.Duration) error {
	where := name + " interval"
	if iv.stopped() {
		where = "drain after the " + where
	}
	var per []string
	for _, w := range c.workers[:min(len(c.workers), 16)] {
		per = append(per, fmt.Sprint(w.progress.Load()))
	}
	return &hangError{fmt.Sprintf("no worker progressed for %v in the %s (progress by worker: %s)",
		d.Round(time.Millisecond), where, strings.Join(per, " "))}
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
		want += m.ops()
		if c.shared {
			want -= m.reads
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
