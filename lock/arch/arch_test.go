package arch

import (
	"math"
	"testing"
)

// TestStoreRelease: the stub writes the whole word and nothing beside it.
func TestStoreRelease(t *testing.T) {
	const guard32, guard64 = 0xA5A5A5A5, 0xA5A5A5A5A5A5A5A5
	for _, v := range []uint32{0, 1, 0x80000000, math.MaxUint32} {
		words := [3]uint32{guard32, ^v, guard32}
		StoreRelease32(&words[1], v)
		if want := [3]uint32{guard32, v, guard32}; words != want {
			t.Errorf("StoreRelease32(%#x): memory is %#x, want %#x", v, words, want)
		}
	}
	for _, v := range []uint64{0, 1, 1 << 32, 1 << 63, math.MaxUint64} {
		words := [3]uint64{guard64, ^v, guard64}
		StoreRelease64(&words[1], v)
		if want := [3]uint64{guard64, v, guard64}; words != want {
			t.Errorf("StoreRelease64(%#x): memory is %#x, want %#x", v, words, want)
		}
	}
}

// TestPause: it returns, often, and leaves nothing behind.
func TestPause(t *testing.T) {
	for range 1000 {
		Pause()
	}
	if n := testing.AllocsPerRun(100, Pause); n != 0 {
		t.Errorf("Pause allocates %v times", n)
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause()
	}
}

func BenchmarkStoreRelease32(b *testing.B) {
	var word uint32
	for b.Loop() {
		StoreRelease32(&word, 1)
	}
}
