package locktest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// checkRW holds read acquisitions to their contract.
//
//	held by      RLock, TryRLock     Lock, TryLock
//	nobody       yes                 yes
//	readers      yes (*)             wait, false
//	a writer     wait, false         wait, false
//
// (*) A policy may make later readers wait for a writer that waits; with no
// writer about, readers must be let in together. Two readers that are inside
// at once prove it: the second RLock has to return before the first RUnlock.
//
// It cannot judge which side is preferred, which is a trait. It sees a side
// that is stuck for good: the streams end, and then everybody must get in.
func checkRW(s *subject) error {
	for _, part := range []struct {
		name string
		run  func(*subject) error
	}{
		{"readers together", stageReaders},
		{"writer behind readers", stageWriterBehind},
		{"readers behind a writer", stageReadersBehind},
		{"mixed", stressMixed},
		{"writers in a stream of readers", stressStream(true)},
		{"readers in a stream of writers", stressStream(false)},
	} {
		if err := part.run(s); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

func rlock(w *worker) error { w.h.(lock.RWHandle).RLock(); return nil }

func runlock(w *worker) error { w.h.(lock.RWHandle).RUnlock(); return nil }

// tries checks what TryLock and TryRLock say, where the handle has them, and
// gives back what they take.
func (t *team) tries(id int, when string, write, read bool) error {
	return t.play(step{id, "TryLock and TryRLock " + when, func(w *worker) error {
		if try, ok := w.h.(lock.TryLocker); ok {
			got := try.TryLock()
			if got {
				w.h.Unlock()
			}
			if got != write {
				return fmt.Errorf("TryLock returned %v, want %v", got, write)
			}
		}
		if try, ok := w.h.(lock.TryRLocker); ok {
			got := try.TryRLock()
			if got {
				w.h.(lock.RWHandle).RUnlock()
			}
			if got != read {
				return fmt.Errorf("TryRLock returned %v, want %v", got, read)
			}
		}
		return nil
	}})
}

// stageReaders: all but the last worker hold for reading at once.
func stageReaders(s *subject) error {
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	outside := len(t.workers) - 1
	for range 2 {
		if err := t.tries(outside, "on a free lock", true, true); err != nil {
			return err
		}
		for id := range outside {
			if err := t.play(step{id, "RLock beside readers", rlock}); err != nil {
				return err
			}
			if err := t.tries(outside, "beside readers", false, true); err != nil {
				return err
			}
		}
		for id := range outside {
			if err := t.play(step{id, "RUnlock", runlock}); err != nil {
				return err
			}
		}
	}
	return t.atRest()
}

// stageWriterBehind: a writer gets in when the last reader has left, not before.
func stageWriterBehind(s *subject) error {
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	writer := len(t.workers) - 1
	for id := range writer {
		if err := t.play(step{id, "RLock", rlock}); err != nil {
			return err
		}
	}
	// The writer looks at the number of readers when it is in: exact, and
	// indifferent to how long it waits.
	var inside atomic.Int32
	inside.Store(int32(writer))
	writing := t.start(writer, "Lock behind readers", func(w *worker) error {
		w.h.Lock()
		if n := inside.Load(); n != 0 {
			return fmt.Errorf("exclusion violated: a writer entered beside %d readers", n)
		}
		return nil
	})
	for id := range writer {
		time.Sleep(moment)
		if writing.returned() {
			return errors.Join(errors.New("exclusion violated: Lock returned while readers were inside"), writing.err)
		}
		if err := t.play(step{id, "RUnlock", func(w *worker) error { inside.Add(-1); return runlock(w) }}); err != nil {
			return err
		}
	}
	if err := t.wait(writing); err != nil {
		return err
	}
	if err := t.tries(0, "beside a writer", false, false); err != nil {
		return err
	}
	if err := t.play(step{writer, "Unlock", unlock}); err != nil {
		return err
	}
	return t.atRest()
}

// stageReadersBehind: all readers that wait for a writer get in when it has
// left, and at once: each holds until all the others do.
func stageReadersBehind(s *subject) error {
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	const writer = 0
	for range 2 {
		if err := t.play(step{writer, "Lock", mustLock}); err != nil {
			return err
		}
		var writing atomic.Bool
		writing.Store(true)
		var reading []*call
		for id := 1; id < len(t.workers); id++ {
			reading = append(reading, t.start(id, "RLock behind a writer", func(w *worker) error {
				w.h.(lock.RWHandle).RLock()
				if writing.Load() {
					return errors.New("exclusion violated: a reader entered beside a writer")
				}
				return nil
			}))
		}
		time.Sleep(moment)
		for _, r := range reading {
			if r.returned() {
				return errors.Join(errors.New("exclusion violated: RLock returned while a writer was inside"), r.err)
			}
		}
		if err := t.play(step{writer, "Unlock", func(w *worker) error { writing.Store(false); return unlock(w) }}); err != nil {
			return err
		}
		if err := t.wait(reading...); err != nil {
			return err
		}
		for id := 1; id < len(t.workers); id++ {
			if err := t.play(step{id, "RUnlock", runlock}); err != nil {
				return err
			}
		}
	}
	return t.atRest()
}

// stressMixed: everybody reads and writes, by every way in that there is.
func stressMixed(s *subject) error {
	const budget = 60 * time.Millisecond
	t, err := s.newTeam(s.workers(4), 1)
	if err != nil {
		return err
	}
	defer t.close()
	sec := t.newSection(0)
	err = t.stress("RLock or Lock, section", budget, unbounded, func(w *worker) error {
		rw := w.h.(lock.RWHandle)
		r := w.rng.Uint32()
		try := r&4 != 0
		if r%4 == 0 {
			if l, ok := w.h.(lock.TryLocker); !ok || !try {
				w.h.Lock()
			} else if !l.TryLock() {
				return nil
			}
			err := sec.pass(w)
			w.h.Unlock()
			return err
		}
		if l, ok := w.h.(lock.TryRLocker); !ok || !try {
			rw.RLock()
		} else if !l.TryRLock() {
			return nil
		}
		err := sec.read(w)
		rw.RUnlock()
		return err
	})
	if err != nil {
		return err
	}
	if err := sec.settle(t); err != nil {
		return err
	}
	return t.atRest()
}

// stressStream: worker 0 is of one kind, the others, whose holds overlap, of
// the other kind.
func stressStream(loneWriter bool) func(*subject) error {
	return func(s *subject) error {
		const (
			budget     = 20 * time.Millisecond
			operations = 2000
		)
		t, err := s.newTeam(s.workers(4), 1)
		if err != nil {
			return err
		}
		defer t.close()
		sec := t.newSection(0)
		err = t.stress("Lock or RLock, section", budget, operations, func(w *worker) error {
			if (w.id == 0) == loneWriter {
				w.h.Lock()
				err := sec.pass(w)
				w.h.Unlock()
				return err
			}
			rw := w.h.(lock.RWHandle)
			rw.RLock()
			err := sec.read(w)
			rw.RUnlock()
			return err
		})
		if err != nil {
			return err
		}
		if err := sec.settle(t); err != nil {
			return err
		}
		return t.atRest()
	}
}
