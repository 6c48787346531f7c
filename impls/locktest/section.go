package locktest

import (
	"fmt"
	"sync/atomic"

	"lockbench/lock"
)

// A section is what a lock under test protects, and the oracle of exclusion.
//
//	owner   0: nobody is inside; id+1: that worker is
//	count   passes, read at the entry and written at the exit: two writers
//	        that overlap anywhere lose one
//
// Both are plain variables on purpose. A lock whose Unlock does not happen
// before the next Lock lets a worker see old values, and gives the race
// detector something to report. Atomic accesses would hide the second and,
// being sequentially consistent, part of the first.
type section struct {
	index  int  // of the lock that guards it
	atomic bool // Options.Atomic

	_     [lock.CacheLine]byte
	owner uint32
	count uint64
	_     [lock.CacheLine]byte
}

// newSection makes what the team's lock number index protects.
func (t *team) newSection(index int) *section {
	return &section{index: index, atomic: t.s.o.Atomic}
}

// pass goes through the section as its only holder.
func (s *section) pass(w *worker) error {
	me := uint32(w.id) + 1
	if o := s.getOwner(); o != 0 {
		return fmt.Errorf("exclusion violated: entered while worker %d was inside", o-1)
	}
	s.setOwner(me)
	count := s.getCount()
	w.dawdle()
	if o := s.getOwner(); o != me {
		return fmt.Errorf("exclusion violated: the owner word became %d while inside, want %d", o, me)
	}
	s.setCount(count + 1)
	s.setOwner(0)
	w.passes[s.index]++
	return nil
}

// read goes through the section as one of its readers.
func (s *section) read(w *worker) error {
	if o := s.getOwner(); o != 0 {
		return fmt.Errorf("exclusion violated: a reader entered while worker %d was inside to write", o-1)
	}
	count := s.getCount()
	w.dawdle()
	if o := s.getOwner(); o != 0 {
		return fmt.Errorf("exclusion violated: worker %d entered to write beside a reader", o-1)
	}
	if now := s.getCount(); now != count {
		return fmt.Errorf("exclusion violated: the counter went from %d to %d beside a reader", count, now)
	}
	return nil
}

// settle compares the counter with the passes that the workers made. Call it
// when all of them have left.
func (s *section) settle(t *team) error {
	var passes uint64
	for _, w := range t.workers {
		passes += w.passes[s.index]
	}
	if count := s.getCount(); count != passes {
		return fmt.Errorf("exclusion violated: %d passes counted, %d made", count, passes)
	}
	return nil
}

func (s *section) getOwner() uint32 {
	if s.atomic {
		return atomic.LoadUint32(&s.owner)
	}
	return s.owner
}

func (s *section) setOwner(v uint32) {
	if s.atomic {
		atomic.StoreUint32(&s.owner, v)
	} else {
		s.owner = v
	}
}

func (s *section) getCount() uint64 {
	if s.atomic {
		return atomic.LoadUint64(&s.count)
	}
	return s.count
}

func (s *section) setCount(v uint64) {
	if s.atomic {
		atomic.StoreUint64(&s.count, v)
	} else {
		s.count = v
	}
}
