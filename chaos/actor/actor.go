package actor

import (
	"context"
	"errors"
	"sync"

	"lockbench/internal/clock"
)

// actor is one user of the lock.
type actor struct {
	s *session
	n int

	mu    sync.Mutex // of the queue
	queue []*job     // the first is under way

	held *hold // its latest lease; nil: none. The command under way's; written under the session's mu
}

// job is a command of an actor, from its arrival to its end.
type job struct {
	Command
	ctx    context.Context // ends with the session, or by DoCancel
	cancel context.CancelFunc
	finish chan struct{} // closed by DoFinish
	gate   chan struct{} // closed by DoGo
	// What was said, so that it is said once.
	finished, opened bool
}

// maxQueue is how many commands of an actor may wait.
const maxQueue = 64

var errQueue = errors.New("too many commands of the actor wait")

// add begins a command, or leaves it to be begun when those before it have ended.
func (a *actor) add(c Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) >= maxQueue {
		return errQueue
	}
	j := &job{Command: c, finish: make(chan struct{}), gate: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(a.s.ctx)
	a.queue = append(a.queue, j)
	a.s.jobs.Add(1)
	if len(a.queue) == 1 {
		go a.run(j)
	}
	return nil
}

// run carries out commands until none waits.
func (a *actor) run(j *job) {
	for j != nil {
		a.do(j)
		j.cancel()
		a.mu.Lock()
		a.queue = a.queue[1:]
		if j = nil; len(a.queue) > 0 {
			j = a.queue[0]
		} else {
			a.queue = nil
		}
		a.mu.Unlock()
		a.s.jobs.Done()
	}
}

// steer is DoGo, DoFinish and DoCancel: they are about commands that came before them.
func (a *actor) steer(do string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, j := range a.queue {
		switch {
		case do == DoCancel && (j.Do == DoAcquire || j.Do == DoUpdate):
			j.cancel()
		case do == DoFinish && (j.Do == DoWork || j.Do == DoProbe) && !j.finished:
			j.finished = true
			close(j.finish)
		case do == DoGo && j.Point != "" && j.Point != PointSent && !j.opened:
			j.opened = true
			close(j.gate)
			return // one stands at a time
		}
	}
}

// do carries out one command.
func (a *actor) do(j *job) {
	err := a.s.dialled()
	if err == nil {
		switch j.Do {
		case DoAcquire:
			err = a.acquire(j)
		case DoWork:
			err = a.work(j)
		case DoRelease:
			err = a.release(j)
		case DoProbe:
			err = a.probe(j)
		case DoUpdate:
			err = a.update(j)
		}
	}
	if err != nil {
		a.s.fail(j.Command, err)
	}
}

// say gives out an event of a command.
func (a *actor) say(j *job, e Event) {
	e.ID, e.Actor = j.ID, a.n
	a.s.say(e)
}

// stand stands at a point until DoGo; false: the command was ended there.
func (a *actor) stand(j *job, point string) bool {
	a.say(j, Event{Ev: EvPoint, Point: point, AtNS: clock.Shared()})
	select {
	case <-j.gate:
		return true
	case <-j.ctx.Done():
		return false
	}
}
