//go:build unix

package clock

import (
	"testing"
	"time"
)

// TestShared: it is the system's clock, never runs backwards, and does not drift from it.
func TestShared(t *testing.T) {
	for range 3 {
		before := system()
		s := Shared()
		after := system()
		// The distance is right to a system call's length, which a preemption may stretch
		// in each of the tries; a second is far beyond that and far below a wrong zero.
		if s < before-int64(time.Second) || s > after+int64(time.Second) {
			t.Errorf("Shared is %d, the system's clock %d to %d", s, before, after)
		}
	}
	last := Shared()
	for range 10000 {
		now := Shared()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
}

func BenchmarkShared(b *testing.B) {
	for b.Loop() {
		Shared()
	}
}

func BenchmarkSystem(b *testing.B) {
	for b.Loop() {
		system()
	}
}
