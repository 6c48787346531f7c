package loop

import "sync/atomic"

// cacheLine is lock.CacheLine; that package imports this one.
const cacheLine = 128

// RingSize is the length of the order log, in acquisitions.
const RingSize = 1 << 16

// MaxLoggedWorkers is the largest number of workers whose order is logged:
// ids are one byte, and 0 means an empty slot.
const MaxLoggedWorkers = 255

// lineWords is the distance of two touched cache lines, in 8-byte words.
const lineWords = 8

// Protected is what one lock of a cell guards: owner word, counter, release
// stamp and the pointers to the rest stand together on two lines, which move
// with the lock; the touched data lines and the order log lie elsewhere.
//
// Holder and Passes are exported because the generated plain loop spells Enter
// and Exit out: the compiler marks each inlined call with a no-op instruction
// when it finds no other to carry the mark, and without these the null lock
// took 1.5 instead of 1.8 ns (measured, AMD EPYC, Go 1.26).
type Protected struct {
	_      [cacheLine]byte
	Holder uint32 // worker id + 1, 0 = nobody
	Passes uint64 // acquisitions, all intervals
	// stamped is when a holder left that was asked to say so, in ticks, and
	// stampCount the value of count while it held: whose release it was.
	stamped    int64
	stampCount uint64
	lines      []uint64
	ring       *[RingSize]byte // nil: no order log
	_          [cacheLine - 64]byte
	// want is the number of sampled operations under way whose workers want to
	// know when the holder leaves. On its own line: read in each probed section,
	// written only by sampled operations.
	want uint32
	_    [cacheLine - 4]byte
}

// NewProtected returns what a lock guards, with the given number of 64-byte
// data lines, >= 0, and with an order log if ordered (64 KiB).
func NewProtected(lines int, ordered bool) *Protected {
	p := &Protected{lines: make([]uint64, (lines+1)*lineWords)}
	if ordered {
		p.ring = new([RingSize]byte)
	}
	return p
}

// ShareLog makes p write its order log where o does: for Controls, whose order
// nobody reads, so that thousands of workers do not have 64 KiB each. Not in
// -race builds, where it would be a race.
func (p *Protected) ShareLog(o *Protected) {
	if !raceEnabled {
		p.ring = o.ring
	}
}

// Count returns the acquisitions counted so far. The caller must have stopped
// the workers.
func (p *Protected) Count() uint64 { return p.Passes }

// CountNow returns the acquisitions counted so far while workers run: a sign
// of life for the hang guard. It is 0 in -race builds, see raceEnabled.
func (p *Protected) CountNow() uint64 {
	if raceEnabled {
		return 0
	}
	return atomic.LoadUint64(&p.Passes)
}

// Owner returns the worker id + 1 of who is in the section, or 0.
func (p *Protected) Owner() uint32 { return atomic.LoadUint32(&p.Holder) }

// Enter claims the section for me (worker id + 1) and reports whether it was
// free. If not, nothing is changed.
func (p *Protected) Enter(me uint32) bool {
	if atomic.LoadUint32(&p.Holder) != 0 {
		return false
	}
	p.Holder = me
	p.Passes++
	return true
}

// Exit gives the section up and reports whether it was still me's.
func (p *Protected) Exit(me uint32) bool {
	if atomic.LoadUint32(&p.Holder) != me {
		return false
	}
	p.Holder = 0
	return true
}

// Log notes in the order log that me has the section; call it after Enter.
func (p *Protected) Log(me uint32) { p.ring[uint16(p.Passes)] = byte(me) }

// Wanted reports whether a sampled worker waits for a release stamp.
func (p *Protected) Wanted() bool { return atomic.LoadUint32(&p.want) != 0 }

// Order returns the last acquisitions of the order log, oldest first, as
// worker ids + 1; since is the value of Count when logging began.
func (p *Protected) Order(since uint64) []byte {
	n := p.Passes - since
	if n > RingSize {
		n = RingSize
	}
	out := make([]byte, 0, n)
	for c := p.Passes - n + 1; c <= p.Passes; c++ {
		out = append(out, p.ring[uint16(c)])
	}
	return out
}
