package clock

import (
	"testing"
	"time"

	"lockbench/lock/arch"
)

func TestMonotonicClock(t *testing.T) {
	c := Calibrate(false, time.Millisecond)
	if c.Kind != KindMonotonic || c.HZ != 1e9 || c.Ticks() {
		t.Errorf("without an invariant counter: %+v", c)
	}
	if c.CostNS <= 0 || c.ResolutionNS <= 0 {
		t.Errorf("cost %v, resolution %v", c.CostNS, c.ResolutionNS)
	}
	if a, b := c.Now(), c.Now(); b < a {
		t.Errorf("the clock went back: %d, %d", a, b)
	}
}

// TestCounterFollowsTheMonotonicClock compares the two over the same stretch,
// however long the machine makes it.
func TestCounterFollowsTheMonotonicClock(t *testing.T) {
	if !arch.HasTicks {
		t.Skip("no counter on this platform")
	}
	c := Calibrate(true, 20*time.Millisecond)
	if c.Kind == KindMonotonic {
		t.Skip("the counter was refused on this machine")
	}
	ticks0, mono0 := Pair()
	time.Sleep(20 * time.Millisecond)
	if ppm := c.Check(ticks0, mono0); ppm > 20_000 {
		t.Errorf("off by %v ppm", ppm)
	}
	if ns := c.NS(c.ToTicks(time.Second)); ns < 999_999_000 || ns > 1_000_001_000 {
		t.Errorf("a second in ticks and back is %d ns", ns)
	}
	if c.CostNS <= 0 || c.ResolutionNS <= 0 || c.ErrorPPM > maxErrorPPM {
		t.Errorf("calibration %+v", c)
	}
}

func TestCheckFindsAWrongRate(t *testing.T) {
	if !arch.HasTicks {
		t.Skip("no counter on this platform")
	}
	c := Calibrate(true, 5*time.Millisecond)
	if !c.Ticks() {
		t.Skip("the counter was refused on this machine")
	}
	c.HZ *= 1.1
	ticks0, mono0 := Pair()
	time.Sleep(5 * time.Millisecond)
	if ppm := c.Check(ticks0, mono0); ppm < 50_000 {
		t.Errorf("a rate that is 10 %% wrong is off by %v ppm only", ppm)
	}
}

func TestSharedGrows(t *testing.T) {
	a := Shared()
	if b := Shared(); a <= 0 || b < a {
		t.Errorf("%d, then %d", a, b)
	}
}
