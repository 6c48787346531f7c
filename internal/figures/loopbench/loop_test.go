// Package loopbench runs the measured loop of sync.Mutex as an ordinary Go
// benchmark, so that the harness's figure can be held against the toolchain's.
package loopbench

import (
	"testing"

	"lockbench/impls/std"
	"lockbench/lock"
	"lockbench/lock/loop"
)

func BenchmarkMutexLoop(b *testing.B) {
	for _, info := range std.Infos() {
		if info.Name != "mutex" {
			continue
		}
		l, err := info.New(1)
		if err != nil {
			b.Fatal(err)
		}
		h := l.NewHandle(&lock.Worker{})
		s := loop.New(loop.Config{Protected: []*loop.Protected{loop.NewProtected(0, false)}, Handles: []any{h}, Every: 1, NSPerTick: 1}, new(loop.Stop))
		b.ResetTimer()
		if n := h.(lock.Batcher).BatchPlain(s, b.N); n != b.N || s.Found().Count > 0 {
			b.Fatalf("%d of %d operations, findings %+v", n, b.N, s.Found())
		}
		return
	}
	b.Fatal("no mutex")
}
