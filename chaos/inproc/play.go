package inproc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// settle is how long after they were seen inside of Lock waiters are given to get past its first steps.
const settle = 2 * time.Millisecond

// jitter is the longest time between the last waiter and the fault, drawn for each round.
const jitter = 2 * time.Millisecond

// play is one round in the child.
type play struct {
	s       setup
	info    lock.Info
	l       lock.Lock
	sec     section
	holder  *holder
	waiters []*waiter
	last    *comer // nil: the lock takes no more workers
	tries   bool   // the last one can TryLock
	out     round
}

// newPlay makes a fresh lock and all handles; nobody uses it yet.
func newPlay(s setup, info lock.Info, caps lock.Caps, n int, rng *rand.Rand) (*play, error) {
	roles, last := cast(caps, info.MaxWorkers)
	workers := 1 + len(roles)
	if last {
		workers++
	}
	l, err := info.New(workers)
	if err != nil {
		return nil, fmt.Errorf("make lock %s for %d workers: %w", info.Name, workers, err)
	}
	hs := make([]lock.Handle, workers)
	for i := range hs {
		hs[i] = l.NewHandle(&lock.Worker{ID: i})
	}
	p := &play{s: s, info: info, l: l, tries: last && caps.Try, out: round{N: n}}
	p.holder = newHolder(s, hs[0], &p.sec)
	rng.Shuffle(len(roles), func(i, j int) { roles[i], roles[j] = roles[j], roles[i] })
	for i, role := range roles {
		p.waiters = append(p.waiters, &waiter{id: i + 1, role: role, h: hs[i+1], limit: s.limit(), done: make(chan struct{})})
	}
	if last {
		p.last = &comer{workers - 1, hs[workers-1], make(chan func(), 1)}
	}
	return p, nil
}

// run plays the round and reports it. If the round is stuck, goroutines of it are left behind, which may
// spin: the process is to be ended.
func (p *play) run(rng *rand.Rand) round {
	if err := p.stage(); err != nil {
		p.out.Err, p.out.Stuck = err.Error(), true
		return p.report(clock.Shared())
	}
	time.Sleep(time.Duration(rng.Int64N(int64(jitter))))
	patience, cancel := context.WithTimeout(context.Background(), p.s.stall()+p.s.patience())
	defer cancel()
	close(p.holder.inject)
	if p.s.Fault != GoroutineExit {
		p.out.Felt = p.holder.felt(patience, p.info.ThreadBound)
	}
	all := p.watch()
	end := clock.Shared()
	if p.s.Fault == GoroutineExit {
		patience, cancel := context.WithTimeout(context.Background(), p.s.patience())
		defer cancel()
		p.out.Felt = p.holder.felt(patience, p.info.ThreadBound)
	}
	if !all {
		p.out.Stuck = true
		if err := errors.Join(p.leave(), p.try()); err != nil {
			p.out.Err = err.Error()
		}
	} else {
		p.after()
	}
	if !p.out.Stuck {
		close(p.holder.over)
		if p.last != nil {
			close(p.last.work)
		}
	}
	return p.report(end)
}

// stage brings the holder to the point and the waiters into their queue, one after the other.
func (p *play) stage() error {
	bound := p.info.ThreadBound
	spawn(bound, p.holder.run)
	select {
	case <-p.holder.point:
	case <-time.After(p.s.patience()):
		return fmt.Errorf("the first Lock of a fresh lock did not return within %v", p.s.patience())
	}
	if p.last != nil {
		spawn(bound, p.last.run)
	}
	// Before the waiters: those that leave shall still be there when the fault comes.
	if err := p.try(); err != nil {
		return err
	}
	for i, w := range p.waiters {
		spawn(bound, func() { w.run(&p.sec) })
		how, err := p.queued(p.waiters[:i+1])
		if err != nil {
			return err
		}
		p.out.Queued = how
	}
	return nil
}

// try lets the last one try.
func (p *play) try() error {
	if !p.tries {
		return nil
	}
	t, ok := p.last.try(&p.sec, p.s.patience())
	if !ok {
		return fmt.Errorf("TryLock did not return within %v", p.s.patience())
	}
	p.out.Tries = append(p.out.Tries, t)
	return nil
}

// queued waits until those who have not come back are seen to wait, and says how.
func (p *play) queued(started []*waiter) (string, error) {
	counter := lock.WaiterOf(p.l, p.holder.h)
	for end := time.Now().Add(p.s.patience()); time.Now().Before(end); time.Sleep(time.Millisecond / 2) {
		var out []*waiter
		for _, w := range started {
			if w.end.Load() == 0 {
				out = append(out, w)
			}
		}
		switch {
		case len(out) == 0:
			return "nobody waits", nil
		case counter != nil:
			if called(out) && counter.Waiters() >= len(out) {
				return fmt.Sprintf("the lock counts %d", len(out)), nil
			}
		case inside(dumps(), out):
			time.Sleep(settle)
			return fmt.Sprintf("the goroutine dump shows %d inside of their calls", len(out)), nil
		}
	}
	return "", fmt.Errorf("the waiters were not seen to wait within %v", p.s.patience())
}

func called(ws []*waiter) bool {
	for _, w := range ws {
		if w.call.Load() == 0 {
			return false
		}
	}
	return true
}

// inside reports whether the dump shows all of them in the method in which they wait.
func inside(dump string, ws []*waiter) bool {
	for _, w := range ws {
		if _, stack, ok := inDump(dump, w.gid.Load()); !ok || !within(stack, method[w.role]) {
			return false
		}
	}
	return true
}

// watch observes the waiters, and reports whether all came back: within the window, if nobody gives the
// lock back, and else as long as it takes, up to where it must be called a hang.
func (p *play) watch() bool {
	limit := p.s.window()
	if p.s.gives() {
		limit = p.s.stall() + p.s.patience()
	}
	over := time.After(limit)
	for _, w := range p.waiters {
		select {
		case <-w.done:
		case <-over:
			return false
		}
	}
	return true
}

// leave waits for those who are to leave by themselves. How late they are is a figure, and may be beyond the
// window when waiters spin on all processors; one that does not leave at all is an error.
func (p *play) leave() error {
	over := time.After(p.s.patience())
	for _, w := range p.waiters {
		if w.role == rolePlain {
			continue
		}
		select {
		case <-w.done:
		case <-over:
			return fmt.Errorf("the %s waiter with a limit of %v had not left %v after the others were given up", w.role, w.limit, p.s.patience())
		}
	}
	return nil
}

// after lets the last one take the lock that all others have had.
func (p *play) after() {
	if p.last == nil {
		return
	}
	limit := p.s.patience()
	if !p.s.gives() {
		limit = p.s.window()
	}
	p.out.Last = granted
	if !p.last.lock(&p.sec, limit) {
		p.out.Last, p.out.Stuck = waits, true
	}
}

// report puts together what was seen; end is the observation's.
func (p *play) report(end int64) round {
	p.out.FaultNS, p.out.BackNS, p.out.EndNS = p.holder.fault.Load(), p.holder.back.Load(), end
	p.out.Waits = []wait{}
	for _, w := range p.waiters {
		if w.call.Load() != 0 {
			p.out.Waits = append(p.out.Waits, w.wait(end))
		}
	}
	p.out.Visits = p.sec.visits()
	if p.out.Stuck && (p.s.gives() || p.out.Err != "") {
		p.out.Dump = head(dumps())
	}
	return p.out
}
