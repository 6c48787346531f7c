package claims

import "lockbench/internal/clock"

// Entry is what a worker found when it entered.
type Entry struct {
	// Overlap is the worker whose claim stood, -1 = none.
	Overlap int
	// Regressed says that the token was not above those seen before.
	Regressed bool
	// At is the stamp of the entry. Released and Releaser are of the last exit
	// from the section (0 and -1: nobody was in it before); ReleaseTrips is what
	// its release reported before it began.
	At, Released int64
	Releaser     int
	ReleaseTrips int64
	counter      int64
}

// Enter claims a key for a worker that was just granted it. token is its fencing
// token, if hasToken; reentered claims are not made.
func (a *Arena) Enter(worker, key int, token uint64, hasToken bool) Entry {
	k := &a.keys[key]
	e := Entry{Overlap: -1, Releaser: -1}
	k.busy.Add(1)
	e.At = clock.Shared()
	if !k.owner.CompareAndSwap(0, uint64(worker)+1) {
		holder := k.owner.Load()
		if e.Overlap = int(holder) - 1; holder == 0 { // it has just left, after we were granted: they met all the same
			e.Overlap = int(k.releaser.Load()) - 1
		}
		k.contested.CompareAndSwap(0, e.At)
		k.pending.Add(1)
		if holder == 0 || k.owner.Load() != holder { // it does not look any more, or it sees us: one of both settles
			k.settle(k.over.Load())
		}
	}
	k.since.Store(e.At)
	e.Released, e.Releaser, e.ReleaseTrips = k.released.Load(), int(k.releaser.Load())-1, k.releaseTrip.Load()
	if hasToken {
		for {
			last := k.token.Load()
			if token+1 <= last {
				e.Regressed = true
				k.regressions.Add(1)
				break
			}
			if k.token.CompareAndSwap(last, token+1) {
				break
			}
		}
	}
	e.counter = k.counter
	s := &a.slots[worker]
	n := s.next.Load()
	s.ring[n%RingSize] = Claim{Key: uint64(key), Token: token, Enter: e.At}
	s.next.Store(n + 1)
	return e
}

// settle decides whose fault it is that claims met one whose holder leaves or has left: the
// lock's, if the first of them began while the holder's lease was valid, else the holder's.
func (k *Key) settle(over int64) {
	n := k.pending.Swap(0)
	if n == 0 {
		return
	}
	since := k.contested.Swap(0)
	if since == 0 { // one that settled between has taken the stamp: it was just now
		since = clock.Shared()
	}
	if over != 0 && since >= over {
		k.stale.Add(n)
	} else {
		k.overlaps.Add(n)
	}
}

// Exit gives the claim up, before the release is sent, and returns its stamp. over says
// when the worker's lease is or was over, 0: it has no end. A claim of another worker that began
// before that is an overlap, a later one makes this worker a stale holder.
func (a *Arena) Exit(worker, key int, e Entry, over int64) int64 {
	k := &a.keys[key]
	if k.owner.Load() == uint64(worker)+1 {
		k.over.Store(over)
		k.settle(over)
	}
	k.counter = e.counter + 1 // read at the entry, written at the exit: the section's length apart
	k.sections.Add(1)
	at := clock.Shared()
	s := &a.slots[worker]
	for i := range uint64(2) { // a transfer has two claims
		if n := s.next.Load(); n > i {
			if c := &s.ring[(n-1-i)%RingSize]; c.Key == uint64(key) && c.Exit == 0 {
				c.Exit = at
				break
			}
		}
	}
	k.releaser.Store(int64(worker) + 1)
	k.released.Store(at)
	if k.owner.CompareAndSwap(uint64(worker)+1, 0) && k.pending.Load() != 0 { // one came meanwhile
		k.settle(over)
	}
	return at
}

// Busy reports whether somebody holds the key now: he claimed it, and his release
// has not returned yet.
func (a *Arena) Busy(key int) bool { return a.keys[key].busy.Load() != 0 }

// Free notes that the release of a key, which was claimed and left, has returned.
func (a *Arena) Free(key int) { a.keys[key].busy.Add(-1) }

// SetReleaseTrips notes how many round trips a release of this lock takes.
// The client that releases reports it, since the next holder cannot know.
func (a *Arena) SetReleaseTrips(key int, n int64) { a.keys[key].releaseTrip.Store(n) }

// Waiting notes that a worker waits for a key, -1 = for none.
func (a *Arena) Waiting(worker, key int) { a.slots[worker].waits.Store(uint64(key + 1)) }

// Cycle follows who waits for whom, from a worker that waits for a key, and returns
// the workers of the circle that it is in, and the circle's id; nil if there is none. The words are
// read one after the other, so that a circle of workers that do not wait at the same
// time is possible in principle; it is read twice and must be the same.
func (a *Arena) Cycle(worker, key int) (members []int, id uint64) {
	first, id := a.cycle(worker, key)
	if first == nil {
		return nil, 0
	}
	again, same := a.cycle(worker, key)
	if len(again) != len(first) || same != id {
		return nil, 0
	}
	return first, id
}

// cycle's id is a sum over its members, so that each of them comes to the same: of the key that
// each waits for, and since when that is held.
func (a *Arena) cycle(worker, key int) (path []int, id uint64) {
	path = []int{worker}
	for len(path) <= len(a.slots) {
		k := &a.keys[key]
		holder := int(k.owner.Load()) - 1
		id += mix(uint64(key)<<32 ^ uint64(k.since.Load()))
		switch {
		case holder == worker && len(path) > 1:
			return path, id
		case holder < 0 || holder >= len(a.slots) || holder == worker:
			return nil, 0
		}
		path = append(path, holder)
		w := int(a.slots[holder].waits.Load()) - 1
		if w < 0 || w >= len(a.keys) {
			return nil, 0
		}
		key = w
	}
	return nil, 0
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Report notes a circle and returns false if one of its members has done so before.
func (a *Arena) Report(id uint64) bool {
	for {
		// All who report at once want the same slot: its CAS lets one in, and the others look again.
		n := a.h.nextCycle.Load()
		slot := &a.h.cycles[n%maxCycles]
		old := slot.Load()
		for i := range a.h.cycles {
			if a.h.cycles[i].Load() == id {
				return false
			}
		}
		done := slot.CompareAndSwap(old, id)
		a.h.nextCycle.CompareAndSwap(n, n+1) // also for one who was quicker
		if done {
			return true
		}
	}
}

// Move moves an amount between two keys' balances, which their locks protect. It is
// plain reads and writes.
func (a *Arena) Move(from, to int, amount int64) {
	f, t := a.keys[from].balance, a.keys[to].balance
	a.keys[from].balance = f - amount
	a.keys[to].balance = t + amount
}

// Acknowledged and Unknown count guarded and optimistic writes.
func (a *Arena) Acknowledged(key int, delta int64) { a.keys[key].acked.Add(delta) }

// Unknown counts a write of which nobody knows whether it was done.
func (a *Arena) Unknown(key int, delta int64) { a.keys[key].unknown.Add(max(delta, -delta)) }

// Finish notes that a client has done its last section; Finished is how many
// have.
func (a *Arena) Finish() { a.h.finished.Add(1) }

// Finished is how many clients have finished.
func (a *Arena) Finished() int { return int(a.h.finished.Load()) }

// Audit is what is wrong with the keys and with the sum of the balances.
type Audit struct {
	Overlaps, Regressions int64
	// Stale is how often a holder whose lease was over was still inside when the next one came.
	Stale int64
	// LostUpdates are sections beyond those that the plain counters have, and money that is
	// lost; of keys without a stale holder, who damages them without a fault of the lock.
	LostUpdates int64
}

// Violations is the lock's faults.
func (a Audit) Violations() int64 { return a.Overlaps + a.Regressions + a.LostUpdates }

// Audit sums up all keys. It is for after the last exit.
func (a *Arena) Audit() Audit {
	var out Audit
	balance := int64(0)
	for i := range a.keys {
		k := &a.keys[i]
		out.Overlaps += k.overlaps.Load() + k.pending.Load()
		out.Regressions += k.regressions.Load()
		out.Stale += k.stale.Load()
		if d := k.sections.Load() - k.counter; d != 0 && k.stale.Load() == 0 {
			out.LostUpdates += max(d, -d)
		}
		balance += k.balance
	}
	if d := balance - Initial*int64(len(a.keys)); d != 0 && out.Stale == 0 {
		out.LostUpdates += max(d, -d)
	}
	return out
}

// Settled is what is proved while a holder may still be inside, or died there: claims that
// are contested and not decided are left out.
func (a *Arena) Settled() Audit {
	var out Audit
	for i := range a.keys {
		out.Overlaps += a.keys[i].overlaps.Load()
		out.Regressions += a.keys[i].regressions.Load()
		out.Stale += a.keys[i].stale.Load()
	}
	return out
}

// Written returns the sums of acknowledged deltas of a key and of those that are not
// known.
func (a *Arena) Written(key int) (acked, unknown int64) {
	return a.keys[key].acked.Load(), a.keys[key].unknown.Load()
}

// Ring returns the latest claims of a worker, oldest first.
func (a *Arena) Ring(worker int) []Claim {
	s := &a.slots[worker]
	n := s.next.Load()
	var out []Claim
	for i := n - min(n, RingSize); i < n; i++ {
		out = append(out, s.ring[i%RingSize])
	}
	return out
}
