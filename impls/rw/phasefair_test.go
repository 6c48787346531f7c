package rw

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"lockbench/lock"
)

// TestPhaseFairOverflow starts all counters just below their end, so that
// they pass it while readers and writers are inside.
func TestPhaseFairOverflow(t *testing.T) {
	const workers, rounds = 2, 100
	l := &phaseFairLock{}
	start := ^uint32(0)
	l.rin = start - start%readerInc - 5*readerInc
	l.rout = l.rin
	l.win = start - 5
	l.wout = l.win

	var handles []lock.Handle
	for id := range workers {
		handles = append(handles, l.NewHandle(&lock.Worker{ID: id}))
	}
	var (
		wg    sync.WaitGroup
		value int
	)
	for id, h := range handles {
		wg.Go(func() {
			for i := range rounds {
				runtime.Gosched() // so that neither worker goes through its rounds alone
				if (i/2+id)%2 == 0 {
					h.Lock()
					value++
					h.Unlock()
				} else {
					rw := h.(lock.RWHandle)
					rw.RLock()
					if value > workers*rounds {
						t.Errorf("read %d, more than was ever written", value)
					}
					rw.RUnlock()
				}
			}
		})
	}
	wg.Wait()
	if want := workers * rounds / 2; value != want {
		t.Errorf("value = %d, want %d", value, want)
	}
	if l.wout != l.win || l.wout > workers*rounds {
		t.Errorf("wout = %d, win = %d: want them equal, and past their overflow", l.wout, l.win)
	}
	if l.rin != l.rout || l.rin > workers*rounds*readerInc {
		t.Errorf("rin = %#x, rout = %#x: want them equal, and past their overflow", l.rin, l.rout)
	}
}

// TestPhaseFairTurns stages what phase-fair means. A reader holds, a writer
// waits for it, another reader arrives: it must wait for the writer, and the
// writer must not wait for it.
func TestPhaseFairTurns(t *testing.T) {
	l := &phaseFairLock{}
	handle := func(id int) *phaseFairHandle { return l.NewHandle(&lock.Worker{ID: id}).(*phaseFairHandle) }
	early, writer, late := handle(0), handle(1), handle(2)

	early.RLock()
	var order []string // written by the writer in its section, then by the late reader
	var wg sync.WaitGroup
	wg.Go(func() {
		writer.Lock()
		order = append(order, "writer")
		writer.Unlock()
	})
	for atomic.LoadUint32(&l.rin)&present == 0 {
		runtime.Gosched() // the writer has not announced itself yet
	}
	wg.Go(func() {
		late.RLock()
		order = append(order, "late reader")
		late.RUnlock()
	})
	for atomic.LoadUint32(&l.rin) < 2*readerInc {
		runtime.Gosched() // the late reader has not arrived yet
	}
	early.RUnlock()
	wg.Wait()
	if len(order) != 2 || order[0] != "writer" {
		t.Errorf("entered in the order %v, want the writer first", order)
	}
}
