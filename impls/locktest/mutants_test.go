package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/impls/locktest"
	"lockbench/lock"
)

// The mutants are one right lock with one fault each, so that every check of
// the suite is shown to fail for its own reason. The right lock is a monitor
// in which nearly everything is easy to get wrong on purpose.

// faults of a mutant; the zero value is right.
type faults struct {
	tryIgnoresHolder bool // TryLock acquires a held lock
	tryReleases      bool // a failed TryLock frees the lock
	staysQueued      bool // a LockFor that gave up is granted the lock later
	wrongError       bool // LockContext returns an error of its own
	ignoresEnded     bool // LockContext takes a free lock with an ended context
	lifo             bool // grants go to the last arrival
	miscounts        bool // Waiters counts the holder
	readersAlone     bool // RLock is Lock
	readersIgnore    bool // RLock does not wait for the writer
	writerIgnores    bool // Lock does not wait for readers
	oneReaderWakes   bool // Unlock wakes one of the readers that wait
	sharesState      bool // all instances are one lock
	allocates        bool // Lock allocates
	panics           bool // the tenth Lock panics
}

type mutant struct {
	f       faults
	mu      sync.Mutex
	held    bool
	readers int
	queue   []*waiting
	locks   int
}

type waiting struct {
	read  bool
	grant chan struct{}
}

type mutantHandle struct{ m *mutant }

var garbage atomic.Pointer[[64]byte]

func mutantInfo(f faults) lock.Info {
	shared := &mutant{f: f}
	return lock.Info{
		Name: "mutant", Family: "test", Doc: "a lock with one fault", Source: "this test",
		FIFO: true,
		New: func(int) (lock.Lock, error) {
			if f.sharesState {
				return shared, nil
			}
			return &mutant{f: f}, nil
		},
	}
}

func (m *mutant) NewHandle(*lock.Worker) lock.Handle { return &mutantHandle{m} }

// Waiters implements lock.Waiter.
func (m *mutant) Waiters() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.queue)
	if m.f.miscounts && m.held {
		n++
	}
	return n
}

// enter takes the lock or returns the place in the queue.
func (m *mutant) enter(read, wait bool) (ok bool, w *waiting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f.readersAlone && wait {
		read = false
	}
	free := !m.held && (read || m.readers == 0) && len(m.queue) == 0
	switch {
	case read && m.f.readersIgnore, !read && wait && m.f.writerIgnores && !m.held:
		free = true
	case !read && !wait && m.f.tryIgnoresHolder:
		free = true
	}
	switch {
	case free && read:
		m.readers++
	case free:
		m.held = true
	case wait:
		w = &waiting{read: read, grant: make(chan struct{})}
		m.queue = append(m.queue, w)
	}
	return free, w
}

// leave releases a hold and grants the lock to the front of the queue.
func (m *mutant) leave(read bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if read && m.readers > 0 {
		m.readers--
	} else {
		m.held = false
	}
	m.grantNext()
}

func (m *mutant) grantNext() {
	for len(m.queue) > 0 && !m.held {
		i := 0
		if m.f.lifo {
			i = len(m.queue) - 1
		}
		w := m.queue[i]
		if !w.read && m.readers > 0 {
			return
		}
		m.queue = slices.Delete(m.queue, i, i+1)
		if w.read {
			m.readers++
		} else {
			m.held = true
		}
		close(w.grant)
		if w.read && m.f.oneReaderWakes {
			return
		}
	}
}

// abort leaves the queue; it reports false if the grant came first.
func (m *mutant) abort(w *waiting) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.queue, w)
	if i < 0 {
		return false
	}
	if !m.f.staysQueued {
		m.queue = slices.Delete(m.queue, i, i+1)
		m.grantNext() // a writer that leaves may free the way for readers
	}
	return true
}

func (h *mutantHandle) Lock() {
	m := h.m
	if m.f.allocates {
		garbage.Store(new([64]byte))
	}
	if m.f.panics {
		m.mu.Lock()
		m.locks++
		n := m.locks
		m.mu.Unlock()
		if n == 10 {
			panic("the tenth Lock")
		}
	}
	if ok, w := m.enter(false, true); !ok {
		<-w.grant
	}
}

func (h *mutantHandle) Unlock() { h.m.leave(false) }

func (h *mutantHandle) TryLock() bool {
	ok, _ := h.m.enter(false, false)
	if !ok && h.m.f.tryReleases {
		h.m.leave(false)
	}
	return ok
}

func (h *mutantHandle) LockFor(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return h.lockUntil(ctx) == nil
}

func (h *mutantHandle) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil && !h.m.f.ignoresEnded {
		return err
	}
	err := h.lockUntil(ctx)
	if err != nil && h.m.f.wrongError {
		return errors.New("gave up")
	}
	return err
}

func (h *mutantHandle) lockUntil(ctx context.Context) error {
	ok, w := h.m.enter(false, true)
	if ok {
		return nil
	}
	select {
	case <-w.grant:
		return nil
	case <-ctx.Done():
		if h.m.abort(w) {
			return ctx.Err()
		}
		return nil
	}
}

func (h *mutantHandle) RLock() {
	if ok, w := h.m.enter(true, true); !ok {
		<-w.grant
	}
}

func (h *mutantHandle) RUnlock() { h.m.leave(true) }

// TestMutants: each fault fails the check that it is made for, and the lock
// without a fault fails none.
func TestMutants(t *testing.T) {
	for _, test := range []struct {
		name  string
		f     faults
		check string // "" = passes
	}{
		{"no fault", faults{}, ""},
		{"try ignores holder", faults{tryIgnoresHolder: true}, "trylock"},
		{"failed try releases", faults{tryReleases: true}, "trylock"},
		{"stays queued", faults{staysQueued: true}, "timed"},
		{"wrong error", faults{wrongError: true}, "context"},
		{"ignores an ended context", faults{ignoresEnded: true}, "context"},
		{"LIFO", faults{lifo: true}, "fifo"},
		{"Waiters counts the holder", faults{miscounts: true}, "fifo"},
		{"readers alone", faults{readersAlone: true}, "rw"},
		{"readers ignore the writer", faults{readersIgnore: true}, "rw"},
		{"writer ignores readers", faults{writerIgnores: true}, "rw"},
		{"one reader wakes", faults{oneReaderWakes: true}, "rw"},
		{"instances share state", faults{sharesState: true}, "many"},
		{"allocates", faults{allocates: true}, "alloc"},
		{"panics", faults{panics: true}, "progress"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.check == "alloc" && raceEnabled {
				t.Skip("the race detector allocates too")
			}
			info := mutantInfo(test.f)
			info.Allocates = test.check != "alloc"
			o := expected
			o.Scale = 0.5
			failures := locktest.Check(info, o)
			got := ""
			if len(failures) > 0 {
				got = failures[0].Check
			}
			if got != test.check {
				t.Errorf("failed check %q, want %q: %v", got, test.check, failures)
			}
		})
	}
}

// TestInfoMutants: catalogue lines that contradict their locks.
func TestInfoMutants(t *testing.T) {
	right := mutantInfo(faults{})
	for name, spoil := range map[string]func(*lock.Info){
		"no name":              func(i *lock.Info) { i.Name = "" },
		"no source":            func(i *lock.Info) { i.Source = "" },
		"two lines":            func(i *lock.Info) { i.Doc = "a\nb" },
		"FIFO without Waiters": func(i *lock.Info) { i.New = newDeaf },
		"limit not kept":       func(i *lock.Info) { i.MaxWorkers = 2 },
		"New fails":            func(i *lock.Info) { i.New = func(int) (lock.Lock, error) { return nil, errors.New("no") } },
	} {
		t.Run(name, func(t *testing.T) {
			info := right
			spoil(&info)
			failures := locktest.Check(info, expected)
			if len(failures) != 1 || failures[0].Check != "info" {
				t.Errorf("failures %v, want one of check info", failures)
			}
		})
	}
}

// deaf is a lock that cannot say how many wait.
type deaf struct{ mu sync.Mutex }

func newDeaf(int) (lock.Lock, error) { return &deaf{}, nil }

func (d *deaf) NewHandle(*lock.Worker) lock.Handle { return &d.mu }
