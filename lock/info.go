package lock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// Kind says by which rules a lock is judged.
type Kind int

const (
	KindLock       Kind = iota // in-process mutual exclusion; Info.New
	KindLease                  // a lease on a server, can be lost; Info.Dial
	KindGuarded                // a protected write, atomic with the proof of holding; Info.Dial
	KindOptimistic             // no lock: read, compute, write if unchanged; Info.Dial
)

// String is "lock", "lease", "guarded" or "optimistic".
func (k Kind) String() string { return [...]string{"lock", "lease", "guarded", "optimistic"}[k] }

// Info is one catalogue line. It is a value: lists of locks are explicit and
// nothing registers itself.
type Info struct {
	// Name is what users type and records carry: lower case letters, digits
	// and dashes, beginning with a letter.
	Name string
	// Family is the folder below impls/, or a word of the user's own.
	Family string
	// Doc is one line: what the lock is.
	Doc string
	// Source cites the paper or the code that the algorithm comes from.
	Source string

	Kind Kind
	// FIFO is a claim: workers are granted the lock in the order in which
	// they arrived. Claims are judged; a lock that claims FIFO has Waiters.
	FIFO bool
	// Control marks a lock that is run and printed but never judged or
	// ranked, such as null.
	Control bool
	// Allocates says that an acquisition may allocate memory.
	Allocates bool
	// ThreadBound says that a worker must be locked to its operating system
	// thread for as long as it uses its handle (FUTEX_LOCK_PI knows owners by
	// thread id). The caller does that, with runtime.LockOSThread.
	ThreadBound bool
	// MaxWorkers is the largest number of workers that New accepts; 0 = any.
	MaxWorkers int
	// Unavailable, if not empty, says why this platform cannot run the lock.
	// New and Dial are then nil.
	Unavailable string

	// New returns a fresh, free lock for workers 0 to workers-1 (workers >= 1).
	New func(workers int) (Lock, error)
	// Dial returns one client process's access to a distributed lock: a Leaser, or
	// an Optimistic if that is its kind. It fails within Target.DialTimeout if no
	// server answers, or if ctx ends before.
	Dial func(ctx context.Context, t Target) (Client, error)
	// Remote says more of a distributed lock; set exactly if Dial is.
	Remote *Remote
}

// Remote is what is known of a distributed lock before it is dialled.
type Remote struct {
	// Services are the kinds of service that the lock runs on, the first by default:
	// "redis", "redlock", "etcd", "zookeeper", "postgres", "loopback".
	Services []string `json:"services"`
	// Peer is the library that the lock comes from and its version, such as
	// "redsync v4.18.1"; empty: the lock is this project's own.
	Peer string `json:"peer,omitempty"`
	// Expires says that a lease ends by itself at its TTL: one that does not ends with
	// its session or transaction.
	Expires bool `json:"expires"`
	// Renews, Fences and Reentrant say what of AcquireOptions the lock can do. An
	// adapter of a library adds nothing to it.
	Renews    bool `json:"renews"`
	Fences    bool `json:"fences"`
	Reentrant bool `json:"reentrant"`
	// AlwaysFences says that there is a token even if none is asked for.
	AlwaysFences bool `json:"always_fences"`
	// Linearizable is a claim: that what clients see of grants and releases can be told as one history of the lock in
	// which each takes effect between its call and its return, under faults of clients and servers too. It is judged.
	Linearizable bool `json:"linearizable,omitempty"`
	// Guards says that a lease (KindLease) is also a Guarded: its protected write is there beside
	// the tokens.
	Guards bool `json:"guards,omitempty"`
	// Waits is how a waiter learns that it may go on, in a few words: "polls",
	// "woken by the release", "watches its predecessor".
	Waits string `json:"waits,omitempty"`
	// Note is a remark that the lock's rows carry, such as what the library lacks.
	Note string `json:"note,omitempty"`
	// MinNodes is the smallest number of servers that make sense; 0: 1.
	MinNodes int `json:"min_nodes,omitempty"`
}

var nameRE = regexp.MustCompile(`^([a-z]+:)?[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// ValidName reports whether a lock may have that name. A word and a colon before
// it say what was done to the lock, as in "planted:mutex".
func ValidName(name string) bool { return nameRE.MatchString(name) }

// Validate returns what is wrong with the catalogue line, or nil.
func (i Info) Validate() error {
	var errs []error
	if !ValidName(i.Name) {
		errs = append(errs, fmt.Errorf("name %q: want lower case letters, digits and single dashes, beginning with a letter (before it perhaps a word and a colon)", i.Name))
	}
	if i.Family == "" {
		errs = append(errs, fmt.Errorf("lock %s: no family", i.Name))
	}
	if i.Source == "" {
		errs = append(errs, fmt.Errorf("lock %s: no source", i.Name))
	}
	if i.MaxWorkers < 0 {
		errs = append(errs, fmt.Errorf("lock %s: MaxWorkers %d is negative", i.Name, i.MaxWorkers))
	}
	switch {
	case i.Unavailable != "":
		if i.New != nil || i.Dial != nil {
			errs = append(errs, fmt.Errorf("lock %s: unavailable, yet New or Dial is set", i.Name))
		}
	case (i.Dial == nil) != (i.Remote == nil), i.Remote != nil && len(i.Remote.Services) == 0:
		errs = append(errs, fmt.Errorf("lock %s: Remote, with its services, goes with Dial", i.Name))
	case (i.New == nil) == (i.Dial == nil):
		errs = append(errs, fmt.Errorf("lock %s: exactly one of New and Dial must be set", i.Name))
	case (i.Kind == KindLock) != (i.New != nil):
		errs = append(errs, fmt.Errorf("lock %s: New goes with KindLock, Dial with the other kinds", i.Name))
	}
	return errors.Join(errs...)
}

// Caps is what a handle can do, resolved once, when a plan is made.
type Caps struct {
	Try     bool `json:"try"`
	Timed   bool `json:"timed"`
	Context bool `json:"context"`
	RW      bool `json:"rw"`
	TryR    bool `json:"try_r"`
	Waiters bool `json:"waiters"`
	Loops   bool `json:"loops"` // has generated loops: lock.Batcher
}

// CapsOf resolves the optional interfaces of a handle and of its lock.
func CapsOf(l Lock, h Handle) Caps {
	var c Caps
	_, c.Try = h.(TryLocker)
	_, c.Timed = h.(TimedLocker)
	_, c.Context = h.(ContextLocker)
	_, c.RW = h.(RWHandle)
	_, c.TryR = h.(TryRLocker)
	_, c.Loops = h.(Batcher)
	c.Waiters = WaiterOf(l, h) != nil
	return c
}

// WaiterOf returns the Waiter of a handle or of its lock, or nil.
func WaiterOf(l Lock, h Handle) Waiter {
	if w, ok := h.(Waiter); ok {
		return w
	}
	if w, ok := l.(Waiter); ok {
		return w
	}
	return nil
}

// Probe makes a throw-away instance of the lock for one worker and returns
// what its handle can do. It fails for locks that are unavailable here and
// for distributed ones.
func (i Info) Probe() (Caps, error) {
	if i.Unavailable != "" {
		return Caps{}, errors.New(i.Unavailable)
	}
	if i.New == nil {
		return Caps{}, fmt.Errorf("lock %s is not an in-process lock", i.Name)
	}
	l, err := i.New(1)
	if err != nil {
		return Caps{}, fmt.Errorf("make lock %s: %w", i.Name, err)
	}
	return CapsOf(l, l.NewHandle(&Worker{})), nil
}
