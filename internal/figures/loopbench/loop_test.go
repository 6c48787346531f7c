// Package loopbench has the measured loop of sync.Mutex as an ordinary Go
// benchmark, written by hand and without anything of the harness but its work,
// so that the harness's figure can be held against the toolchain's.
package loopbench

import (
	"sync"
	"sync/atomic"
	"testing"
)

// guarded is what the measured loop does inside a section.
type guarded struct {
	_      [128]byte
	holder uint32
	passes uint64
	_      [112]byte
}

func BenchmarkMutexLoop(b *testing.B) {
	var (
		mu   = new(sync.Mutex)
		p    = new(guarded)
		stop = new(struct {
			_    [124]byte
			word uint32
			_    [128]byte
		})
	)
	n := 0
	for ; n < b.N; n++ {
		mu.Lock()
		if atomic.LoadUint32(&stop.word) != 0 {
			break
		}
		if atomic.LoadUint32(&p.holder) != 0 {
			break
		}
		p.holder = 1
		p.passes++
		if atomic.LoadUint32(&p.holder) != 1 {
			break
		}
		p.holder = 0
		mu.Unlock()
	}
	if n != b.N || p.passes != uint64(b.N) {
		b.Fatalf("%d of %d operations, %d passes", n, b.N, p.passes)
	}
}
