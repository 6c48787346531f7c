// Package claims is the ground truth of distributed cells: who is in which
// section, in a mapping that all processes of a cell share.
//
// A worker claims a key after it was granted and gives the claim up before it
// releases, so that the claims of a lock that excludes never overlap. The mapping
// survives the death of a process (docs/METHOD.md, "Distributed locks").
//
//	free --Enter: CAS 0 -> worker+1--> claimed by the worker
//	claimed --Exit: CAS worker+1 -> 0--> free
//	claimed --Enter of another worker: the CAS fails--> contested
//	contested --Exit of the first, whose lease was valid then--> an overlap: two were granted
//	contested --Exit of the first, whose lease was over then--> a stale holder: it stayed too long
//
// Only the first is the lock's fault. A contested claim whose holder does not leave any more counts as
// an overlap.
//
// All words that several workers write are written with sequentially consistent
// atomics: a claim costs some 100 ns of a network round trip, and needs no finer
// argument. The plain counter is the exception. It is what the lock protects, and is
// written without atomics on purpose: an update that is lost shows that two were
// inside even when no claim was seen to overlap.
package claims

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes. RingSize is how many claims of a worker are kept, the latest.
const (
	RingSize   = 256
	MaxKeys    = 1 << 16
	MaxWorkers = 1 << 14
	LineBytes  = 64
	// Initial is the balance of each key for transfers.
	Initial = 1_000_000

	magic   = 0x6c6f636b636c6d31 // "lockclm1"
	version = 1
)

// Key is one key's words. It fills whole cache lines, so that keys do not
// share any.
type Key struct {
	owner       atomic.Uint64 // worker+1, 0 = free
	since       atomic.Int64  // stamp of the owner's Enter
	released    atomic.Int64  // stamp of the latest Exit
	releaser    atomic.Int64  // worker+1 of the latest Exit
	releaseTrip atomic.Int64  // round trips that the latest release took, see SetReleaseTrips
	sections    atomic.Int64  // Exits
	token       atomic.Uint64 // largest fencing token seen, plus 1; 0: none
	overlaps    atomic.Int64  // claims that began while another holder's lease was valid
	pending     atomic.Int64  // claims that began while another's stood, which has not said yet whether its lease was valid
	contested   atomic.Int64  // stamp of the first of these
	stale       atomic.Int64  // claims that began while another's stood whose lease was over
	regressions atomic.Int64
	acked       atomic.Int64 // sum of deltas that the service acknowledged
	unknown     atomic.Int64 // sum of absolute deltas of which nobody knows
	busy        atomic.Int64 // holders, from the claim until the release has returned
	over        atomic.Int64 // of the latest owner that left: when its lease was over, 0: not then
	counter     int64        // plain: what the lock protects
	balance     int64        // plain: of transfers
	_           [14]int64
}

// slot is one worker's words.
type slot struct {
	waits atomic.Uint64 // key+1 that it waits for, 0 = none
	next  atomic.Uint64 // claims so far
	_     [6]uint64
	ring  [RingSize]Claim
}

// Claim is one stay in a section. Stamps are of the machine's monotonic clock, in ns.
type Claim struct {
	Key   uint64
	Token uint64
	Enter int64
	Exit  int64 // 0: not left yet
}

type header struct {
	magic, version         uint64
	keys, workers, perLine uint64
	finished               atomic.Int64 // clients that have done their last section
	nextCycle              atomic.Uint64
	cycles                 [maxCycles]atomic.Uint64 // ids of the latest circles of waiters, see Report
	_                      [25]uint64
}

// maxCycles is how many circles of waiters are remembered, to count each once. Its members
// see it within a tick of the time-outs.
const maxCycles = 32

// Arena is the mapping.
type Arena struct {
	mem   []byte
	h     *header
	keys  []Key
	slots []slot
	lines []byte
	per   int // bytes of protected lines a key
}

// compile-time checks of the layout
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Key{})-256]
	_ = [1]struct{}{}[unsafe.Sizeof(header{})-512]
)

func size(keys, workers, per int) int {
	return int(unsafe.Sizeof(header{})) + keys*int(unsafe.Sizeof(Key{})) + workers*int(unsafe.Sizeof(slot{})) + keys*per
}

// Create makes an arena in a new file in dir ("" = the default for temporary
// files). lines is the number of cache lines of data a key. The file is the caller's to
// remove, best as soon as all processes have opened it.
func Create(dir string, keys, workers, lines int) (a *Arena, path string, err error) {
	if keys < 1 || keys > MaxKeys || workers < 1 || workers > MaxWorkers || lines < 0 {
		return nil, "", fmt.Errorf("claims for %d keys and %d workers: want 1 to %d keys and 1 to %d workers", keys, workers, MaxKeys, MaxWorkers)
	}
	f, err := os.CreateTemp(dir, "lockbench-claims-")
	if err != nil {
		return nil, "", fmt.Errorf("make the file of claims: %w", err)
	}
	defer f.Close()
	n := size(keys, workers, lines*LineBytes)
	if err := f.Truncate(int64(n)); err != nil {
		return nil, "", errors.Join(fmt.Errorf("make the file of claims: %w", err), os.Remove(f.Name()))
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("map the file of claims: %w", err), os.Remove(f.Name()))
	}
	h := (*header)(unsafe.Pointer(&mem[0]))
	h.magic, h.version, h.keys, h.workers, h.perLine = magic, version, uint64(keys), uint64(workers), uint64(lines*LineBytes)
	a = view(mem)
	for i := range a.keys {
		a.keys[i].balance = Initial
	}
	return a, f.Name(), nil
}

// Open maps an arena that another process has made.
func Open(path string) (*Arena, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the file of claims: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the file of claims: %w", err)
	}
	n := int(st.Size())
	if n < int(unsafe.Sizeof(header{})) {
		return nil, fmt.Errorf("the file of claims has %d bytes", n)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the file of claims: %w", err)
	}
	h := (*header)(unsafe.Pointer(&mem[0]))
	if h.magic != magic || h.version != version || h.keys < 1 || h.keys > MaxKeys || h.workers < 1 || h.workers > MaxWorkers ||
		h.perLine > uint64(n) || size(int(h.keys), int(h.workers), int(h.perLine)) != n {
		return nil, errors.Join(errors.New("the file of claims is damaged, or another program's"), unix.Munmap(mem))
	}
	return view(mem), nil
}

func view(mem []byte) *Arena {
	h := (*header)(unsafe.Pointer(&mem[0]))
	at := unsafe.Sizeof(header{})
	a := &Arena{mem: mem, h: h, per: int(h.perLine)}
	a.keys = unsafe.Slice((*Key)(unsafe.Pointer(&mem[at])), h.keys)
	at += uintptr(h.keys) * unsafe.Sizeof(Key{})
	a.slots = unsafe.Slice((*slot)(unsafe.Pointer(&mem[at])), h.workers)
	at += uintptr(h.workers) * unsafe.Sizeof(slot{})
	a.lines = mem[at:]
	return a
}

// Close unmaps the arena.
func (a *Arena) Close() error {
	if err := unix.Munmap(a.mem); err != nil {
		return fmt.Errorf("unmap the claims: %w", err)
	}
	return nil
}

// Keys and Workers are the arena's sizes.
func (a *Arena) Keys() int { return len(a.keys) }

// Workers is the number of workers of all clients together.
func (a *Arena) Workers() int { return len(a.slots) }

// Lines is the data that the lock of a key protects.
func (a *Arena) Lines(key int) []byte { return a.lines[key*a.per : (key+1)*a.per] }
