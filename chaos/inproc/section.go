package inproc

import (
	"sync/atomic"

	"lockbench/internal/clock"
)

// maxVisits is more than the stays of one round: each worker has one, the last comer three.
const maxVisits = 16

// section is what the lock protects: an owner word that shows who is inside, and a record of all stays. It
// uses no lock of its own, so that a goroutine that waits in a Lock waits in that of the lock under test.
type section struct {
	owner atomic.Int32 // 1 + worker; 0: nobody
	n     atomic.Int32 // of stays
	stays [maxVisits]stay
}

// stay is one. Its worker writes it; whoever reports the round may read it at any time.
type stay struct {
	s     *section
	who   int
	role  string
	enter atomic.Int64 // set last of what enter sets: a reader that sees it sees who and role
	exit  atomic.Int64
	met   atomic.Int32
	owns  bool // the owner word is this stay's
}

// enter claims the section for a worker that has just been granted the lock.
func (s *section) enter(who int, role string) *stay {
	at := clock.Shared()
	v := &s.stays[s.n.Add(1)-1]
	v.s, v.who, v.role = s, who, role
	v.owns = s.owner.CompareAndSwap(0, int32(who)+1)
	if !v.owns {
		v.met.Store(s.owner.Load())
	}
	v.enter.Store(at)
	return v
}

// leave gives the claim up. It is called just before Unlock, or before the goroutine leaves the section otherwise.
func (v *stay) leave() {
	if v.owns && !v.s.owner.CompareAndSwap(int32(v.who)+1, 0) {
		v.met.Store(v.s.owner.Load())
	}
	v.exit.Store(clock.Shared())
}

// visits returns the stays so far.
func (s *section) visits() []visit {
	var out []visit
	for i := range s.n.Load() {
		v := &s.stays[i]
		if at := v.enter.Load(); at != 0 {
			out = append(out, visit{v.who, v.role, at, v.exit.Load(), int(v.met.Load())})
		}
	}
	return out
}

// overlap returns the longest time, in ns, that two claims stood at once, and how many stays met another: by
// the owner word, or by the stamps. A claim that stands ends at end.
func overlap(visits []visit, end int64) (longest int64, met int) {
	for i, v := range visits {
		bad := v.Met != 0
		for j, before := range visits {
			// Of two that overlap the later one has met the other.
			if before.EnterNS > v.EnterNS || before.EnterNS == v.EnterNS && j >= i {
				continue
			}
			if both := min(until(before, end), until(v, end)) - v.EnterNS; both > 0 {
				longest, bad = max(longest, both), true
			}
		}
		if bad {
			met++
		}
	}
	return longest, met
}

func until(v visit, end int64) int64 {
	if v.ExitNS == 0 {
		return max(end, v.EnterNS)
	}
	return v.ExitNS
}
