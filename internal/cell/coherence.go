package cell

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// coherenceTime is how long a measurement of the coherence mode takes.
const coherenceTime = 2 * time.Millisecond

// coherenceChunk round trips are timed together; the median of the chunks
// leaves out those in which a thread was preempted.
const coherenceChunk = 32

// coherenceLeast is the smallest number of chunks that has a median worth the
// name: a single long preemption may take all of coherenceTime.
const coherenceLeast = 20

// coherence measures what it costs to move a cache line from one processor to
// another, in ns one way, by passing a word back and forth. On virtual machines
// this changes several-fold between minutes, with whatever the hypervisor
// does; locks are compared like with like.
//
// The two threads are bound to a and b where that is possible, and are never
// given back: a thread with a changed mask ends with its goroutine.
func coherence(clk clock.Clock, a, b int) (float64, bool) {
	var ball struct {
		_    [lock.CacheLine]byte
		turn atomic.Uint32 // even: a's, odd: b's
		_    [lock.CacheLine]byte
		end  atomic.Bool
	}
	type result struct {
		ns float64
		ok bool
	}
	out := make(chan result, 1)
	ready := make(chan bool, 1)
	gone := make(chan struct{})
	bind := func(cpu int) bool {
		runtime.LockOSThread()
		return !CanPin || pinThread(cpu) == nil
	}
	go func() { // b: answers
		defer close(gone)
		ok := bind(b)
		ready <- ok
		for ok {
			t := ball.turn.Load()
			if t&1 == 1 {
				ball.turn.Store(t + 1)
			} else if ball.end.Load() {
				return
			}
		}
	}()
	go func() { // a: counts
		ok := bind(a) && <-ready
		if !ok {
			ball.end.Store(true)
			out <- result{}
			return
		}
		limit := clk.ToTicks(coherenceTime)
		start := clk.Now()
		var chunks []int64
		for last := start; last-start < limit || len(chunks) < coherenceLeast; {
			if last-start > 25*limit { // preempted all the time
				ball.end.Store(true)
				out <- result{}
				return
			}
			for range coherenceChunk {
				t := ball.turn.Load()
				ball.turn.Store(t + 1)
				for n := 1; ball.turn.Load() != t+2; n++ {
					if n%(1<<16) == 0 && clk.Now()-start > 25*limit { // the other side is not running
						ball.end.Store(true)
						out <- result{}
						return
					}
				}
			}
			now := clk.Now()
			chunks = append(chunks, now-last)
			last = now
		}
		ball.end.Store(true)
		slices.Sort(chunks)
		out <- result{float64(clk.NS(chunks[len(chunks)/2])) / (2 * coherenceChunk), true}
	}()
	r := <-out
	<-gone
	return r.ns, r.ok
}
