package arch

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Litmus tests ask the machine at hand what it does with a few lines of code
// run on two processors at the same instant, many times (J. Alglave,
// L. Maranget, S. Sarkar and P. Sewell, "Litmus: Running Tests Against
// Hardware", TACAS 2011). What must never happen is asserted; what a
// processor may do is counted, logged, and required of nobody.

// A trial has its own words, each on lines of its own (128 bytes, as
// lock.CacheLine, which this package cannot import): the trials of a batch
// need no clean-up between them, and one's late store cannot meet the next.
type trial struct {
	x      uint32
	_      [124]byte
	y      uint32
	_      [124]byte
	data   uint64 // plain
	_      [120]byte
	flag32 uint32
	_      [124]byte
	flag64 uint64
	_      [120]byte
	r      [2]uint64 // what the two sides read; written by each for itself
	_      [112]byte
}

const (
	batchSize = 1024
	maxDelay  = 64 // turns of idle, a third of a nanosecond to one each
)

// together runs both sides of every trial of a batch at the same instant, as
// far as possible: each side runs on a thread of its own, meets the other at
// a barrier before every trial, and then waits for a random time, a little
// less or more than a line takes from one processor to the other.
func together(batch []trial, seed uint64, sides [2]func(*trial)) {
	type epoch struct {
		n     atomic.Uint32
		waste atomic.Uint32 // keeps idle's result in use
		_     [120]byte
	}
	var (
		wg      sync.WaitGroup
		arrived [2]epoch
	)
	for side, run := range sides {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			rng := rand.New(rand.NewPCG(seed, uint64(side)))
			waste := uint32(0)
			for i := range batch {
				delay := rng.Uint32() % maxDelay
				arrived[side].n.Store(uint32(i) + 1)
				for spins := 0; arrived[1-side].n.Load() <= uint32(i); spins++ {
					if spins%1024 == 1023 {
						runtime.Gosched() // the other may need this processor
					}
				}
				waste = idle(delay) + waste
				run(&batch[i])
			}
			arrived[side].waste.Store(waste)
		})
	}
	wg.Wait()
}

// idle takes some time proportional to n; the call is not optimised away.
//
//go:noinline
func idle(n uint32) uint32 {
	x := n
	for range n {
		x = x*1664525 + 1013904223 // a linear congruential generator: each turn needs the one before
	}
	return x
}

// countStoreBuffering runs the litmus test SB (store buffering): each side
// stores to its own word and then loads the other's.
//
//	side 0         side 1          r0 r1
//	store x = 1    store y = 1     0  1    side 0 was first
//	r0 = load y    r1 = load x     1  0    side 1 was first
//	                               1  1    they overlapped
//	                               0  0    both loads overtook the stores: impossible
//	                                       in any order of four sequentially
//	                                       consistent operations
//
// It returns how many trials ended with two zeroes.
func countStoreBuffering(seed uint64, store func(*uint32, uint32)) int {
	batch := make([]trial, batchSize)
	together(batch, seed, [2]func(*trial){
		func(t *trial) { store(&t.x, 1); t.r[0] = uint64(atomic.LoadUint32(&t.y)) },
		func(t *trial) { store(&t.y, 1); t.r[1] = uint64(atomic.LoadUint32(&t.x)) },
	})
	reordered := 0
	for i := range batch {
		if batch[i].r == [2]uint64{0, 0} {
			reordered++
		}
	}
	return reordered
}

// TestStoreBufferingAtomic: with atomic stores it never happens. This is what
// the entry protocols of impls/classic and the Unlock of parking locks need.
func TestStoreBufferingAtomic(t *testing.T) {
	const batches = 40
	for seed := range uint64(batches) {
		if n := countStoreBuffering(seed, atomic.StoreUint32); n != 0 {
			t.Fatalf("seed %d: %d of %d trials lost both stores, want none", seed, n, batchSize)
		}
	}
}

// TestStoreBufferingRelease: with the release store it does happen where
// PlainRelease says that the store is weaker, and that is why such code must
// not use it. No processor promises to reorder, so not seeing it proves
// nothing and is no failure; where the store is not weaker, it must not.
func TestStoreBufferingRelease(t *testing.T) {
	const (
		batches = 20
		search  = 3 * time.Second // for a first reordering, before giving up
	)
	procs := runtime.GOMAXPROCS(0)
	reordered, trials := 0, 0
	for began := time.Now(); ; {
		reordered += countStoreBuffering(uint64(trials), StoreRelease32)
		trials += batchSize
		if trials >= batches*batchSize && (!PlainRelease || procs < 2 || reordered > 0 || time.Since(began) > search) {
			break
		}
	}
	t.Logf("StoreRelease32: %d of %d trials (%.3g %%) lost both stores", reordered, trials, 100*float64(reordered)/float64(trials))
	switch {
	case !PlainRelease && reordered > 0:
		t.Errorf("PlainRelease is false, yet stores were reordered with later loads")
	case PlainRelease && reordered == 0:
		t.Skipf("no reordering seen with %d processors: allowed, but then this run shows nothing", procs)
	}
}

// TestMessagePassing runs the litmus test MP, which is what an Unlock needs:
// who sees the flag sees the data that was written before it.
//
//	side 0              side 1
//	data = plain write  r0 = load flag
//	release flag = 1    r1 = data, if r0 was 1
func TestMessagePassing(t *testing.T) {
	const (
		batches = 40
		message = 42
	)
	for _, width := range []struct {
		name string
		send func(*trial)
		seen func(*trial) bool
	}{
		{
			"32 bits",
			func(t *trial) { StoreRelease32(&t.flag32, 1) },
			func(t *trial) bool { return atomic.LoadUint32(&t.flag32) == 1 },
		},
		{
			"64 bits",
			func(t *trial) { StoreRelease64(&t.flag64, 1) },
			func(t *trial) bool { return atomic.LoadUint64(&t.flag64) == 1 },
		},
	} {
		t.Run(width.name, func(t *testing.T) {
			received, trials := 0, 0
			for seed := range uint64(batches) {
				batch := make([]trial, batchSize)
				together(batch, seed, [2]func(*trial){
					func(t *trial) { t.data = message; width.send(t) },
					func(t *trial) {
						if width.seen(t) {
							t.r[0], t.r[1] = 1, t.data
						}
					},
				})
				for i := range batch {
					trials++
					if batch[i].r[0] == 0 {
						continue
					}
					received++
					if got := batch[i].r[1]; got != message {
						t.Fatalf("seed %d, trial %d: the flag was seen, the data was %d, want %d", seed, i, got, message)
					}
				}
			}
			t.Logf("the flag was seen in %d of %d trials", received, trials)
		})
	}
}
