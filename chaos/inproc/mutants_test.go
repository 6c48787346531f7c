package inproc

import (
	"sync"
	"time"

	"lockbench/lock"
)

// mutants are one right lock with one bug each, of the kinds that these faults bring to light.
func mutants() []lock.Info {
	var infos []lock.Info
	for _, m := range []struct {
		name string
		f    bugs
	}{
		{"mutant-right", bugs{}},
		{"mutant-breaks-in", bugs{breaksIn: true}},
		{"mutant-keeps", bugs{keeps: true}},
		{"mutant-forgets", bugs{forgets: true}},
		{"mutant-stays", bugs{stays: true}},
		{"mutant-try", bugs{try: true}},
		{"mutant-dies", bugs{dies: true}},
		{"mutant-never", bugs{never: true}},
	} {
		infos = append(infos, lock.Info{
			Name: m.name, Family: "test", Doc: "a lock with a bug", Source: "this test", Allocates: true,
			New: func(int) (lock.Lock, error) { return &mutant{f: m.f}, nil },
		})
	}
	return infos
}

// bugs of a mutant; the zero value is right.
type bugs struct {
	breaksIn bool // LockFor takes the lock at its deadline, whoever holds it
	keeps    bool // a LockFor that gave up takes the lock when it is freed
	stays    bool // LockFor does not leave
	forgets  bool // Unlock frees nothing if somebody waits
	try      bool // TryLock gets in always
	dies     bool // Unlock ends the process if somebody waits
	never    bool // the first Lock does not return
}

type mutant struct {
	f       bugs
	mu      sync.Mutex
	held    bool
	waiting int
	stale   int // waiters that have gone, and are still queued
}

type mutantHandle struct{ m *mutant }

// NewHandle implements lock.Lock.
func (m *mutant) NewHandle(*lock.Worker) lock.Handle { return mutantHandle{m} }

// take reports whether the lock was free.
func (m *mutant) take() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held {
		return false
	}
	m.held = true
	return true
}

func (m *mutant) wait(d time.Duration) bool {
	end := time.Now().Add(d)
	m.mu.Lock()
	m.waiting++
	m.mu.Unlock()
	got := false
	for !got && time.Now().Before(end) {
		time.Sleep(100 * time.Microsecond)
		got = m.take()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting--
	if !got && m.f.keeps {
		m.stale++
	}
	return got
}

// Lock implements lock.Handle.
func (h mutantHandle) Lock() {
	if h.m.f.never {
		select {}
	}
	if !h.m.take() {
		h.m.wait(time.Hour)
	}
}

// Unlock implements lock.Handle.
func (h mutantHandle) Unlock() {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	switch {
	case h.m.waiting > 0 && h.m.f.dies:
		panic("planted: Unlock with waiters")
	case h.m.waiting > 0 && h.m.f.forgets:
		return
	case h.m.stale > 0:
		h.m.stale--
		return
	}
	h.m.held = false
}

// TryLock implements lock.TryLocker.
func (h mutantHandle) TryLock() bool { return h.m.take() || h.m.f.try }

// LockFor implements lock.TimedLocker.
func (h mutantHandle) LockFor(d time.Duration) bool {
	if h.m.f.stays {
		d = time.Hour
	}
	return h.m.take() || h.m.wait(d) || h.m.f.breaksIn
}
