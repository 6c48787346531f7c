package loop

import (
	"slices"
	"testing"
)

func section(cfg Config) (*Section, *Stop, *Protected) {
	p := NewProtected(4, true)
	stop := new(Stop)
	cfg.Protected = []*Protected{p}
	if cfg.Every == 0 {
		cfg.Every = 1
	}
	cfg.NSPerTick = 1
	return New(cfg, stop), stop, p
}

func TestProtectedExclusion(t *testing.T) {
	_, _, p := section(Config{})
	if !p.Enter(1) || p.Owner() != 1 || p.Count() != 1 {
		t.Fatalf("first Enter: owner %d, count %d", p.Owner(), p.Count())
	}
	if p.Enter(2) || p.Owner() != 1 || p.Count() != 1 {
		t.Errorf("second Enter changed something: owner %d, count %d", p.Owner(), p.Count())
	}
	if p.Exit(2) {
		t.Error("Exit by another worker succeeded")
	}
	if !p.Exit(1) || p.Owner() != 0 {
		t.Errorf("Exit: owner %d", p.Owner())
	}
	if p.Exit(1) {
		t.Error("second Exit succeeded")
	}
}

func TestFindings(t *testing.T) {
	s, _, p := section(Config{Worker: 4})
	p.Enter(2)
	if n := s.FoundEnter(p.Owner(), 7); n != 7 {
		t.Errorf("FoundEnter returned %d", n)
	}
	p.Exit(2)
	if n := s.FoundExit(p.Owner(), 8); n != 8 {
		t.Errorf("FoundExit returned %d", n)
	}
	if f := s.Found(); f != (Finding{Count: 2, Other: 2}) {
		t.Errorf("finding %+v: want the first kept: worker 2 found on entry", f)
	}
}

func TestOrderLog(t *testing.T) {
	_, _, p := section(Config{})
	enter := func(me uint32, log bool) {
		p.Enter(me)
		if log {
			p.Log(me)
		}
		p.Exit(me)
	}
	for range 10 {
		enter(9, false)
	}
	since := p.Count()
	for i := range 5 {
		enter(uint32(i+1), true)
	}
	if got, want := p.Order(since), []byte{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for range RingSize + 7 {
		enter(3, true)
	}
	if got := p.Order(since); len(got) != RingSize || got[0] != 3 {
		t.Errorf("full log: %d entries, first %d: want %d and 3", len(got), got[0], RingSize)
	}
}

// TestSamplingIsUnbiased counts operations and the weights of their samples:
// together the weights stand for all operations, at every stage of the ramp.
func TestSamplingIsUnbiased(t *testing.T) {
	for _, every := range []int{1, 2, 3, 64, 100} {
		jitter := []int32{}
		for i := -every / 2; i < every-every/2; i++ {
			jitter = append(jitter, int32(i))
		}
		for len(jitter)&(len(jitter)-1) != 0 {
			jitter = append(jitter, 0)
		}
		s, _, _ := section(Config{Every: every, Jitter: jitter})
		const ops = 2_000_000
		weights, samples, first := int64(0), 0, 0
		for i := range ops {
			if !s.Tick() {
				continue
			}
			samples++
			if i < rampOps {
				first++
			}
			s.now.obs = Obs{Weight: s.weight}
			s.Done()
			for _, o := range s.Take() {
				weights += int64(o.Weight)
			}
		}
		if r := float64(weights) / ops; r < 0.99 || r > 1.01 {
			t.Errorf("every %d: %d samples stand for %d of %d operations", every, samples, weights, ops)
		}
		if first != rampOps {
			t.Errorf("every %d: %d of the first %d operations sampled, want all", every, first, rampOps)
		}
		if want := ops / every; samples < want*9/10 || samples > want*11/10+20*rampOps {
			t.Errorf("every %d: %d samples of %d operations", every, samples, ops)
		}
	}
}

func TestDoneStopsAtAFullBuffer(t *testing.T) {
	s, _, _ := section(Config{})
	for i := range obsCap {
		if more := s.Done(); more != (i+1 < obsCap) {
			t.Fatalf("after %d samples Done is %v", i+1, more)
		}
	}
	if n := len(s.Take()); n != obsCap {
		t.Errorf("%d samples taken, want %d", n, obsCap)
	}
	if !s.Done() {
		t.Error("no room after Take")
	}
}

func TestHandoffIsTheLastHoldersRelease(t *testing.T) {
	if raceEnabled {
		t.Skip("-race builds do not look at the section from outside")
	}
	for _, c := range []struct {
		name    string
		stamp   bool // the holder stamps its release
		between bool // another worker gets in before
		early   bool // it was released before the arrival
		handoff bool
	}{
		{"waited for the holder", true, false, false, true},
		{"the holder did not stamp", false, false, false, false},
		{"overtaken by another", true, true, false, false},
		{"stamp of an earlier release", true, false, true, false},
	} {
		holder, _, p := section(Config{Worker: 0})
		waiter := New(Config{Worker: 1, Meets: true, Protected: []*Protected{p}, Every: 1, NSPerTick: 1}, new(Stop))
		p.Enter(1)
		if c.early {
			holder.Stamp()
		}
		waiter.Arrive()
		if !p.Wanted() {
			t.Fatalf("%s: a waiting sampled worker wants no stamp", c.name)
		}
		if c.stamp && !c.early {
			holder.Stamp()
		}
		p.Exit(1)
		if c.between {
			p.Enter(3)
			p.Exit(3)
		}
		waiter.Acquired()
		if got := waiter.now.obs.Handoff >= 0; got != c.handoff {
			t.Errorf("%s: handoff %d", c.name, waiter.now.obs.Handoff)
		}
		if p.Wanted() {
			t.Errorf("%s: still wanted after the acquisition", c.name)
		}
		if !waiter.now.obs.Contended {
			t.Errorf("%s: not contended", c.name)
		}
	}
}

func TestContendedWhenOvertaken(t *testing.T) {
	if raceEnabled {
		t.Skip("-race builds do not look at the section from outside")
	}
	s, _, p := section(Config{})
	s.Arrive()
	s.Acquired()
	if s.now.obs.Contended {
		t.Error("a free section counts as contended")
	}
	s.Arrive()
	p.Enter(7)
	p.Exit(7)
	s.Acquired()
	if !s.now.obs.Contended {
		t.Error("overtaken between arrival and acquisition, yet not contended")
	}
}

func TestBacklog(t *testing.T) {
	s, _, _ := section(Config{Gaps: []int64{10}})
	s.OpenOffset(3)
	s.OpenAt(100)
	var got []int64
	n := s.Backlog(135, 100, func(at, weight int64) {
		got = append(got, at)
		if weight != 1 {
			t.Errorf("an arrival stands for %d", weight)
		}
	})
	if want := []int64{103, 113, 123, 133}; n != 4 || !slices.Equal(got, want) {
		t.Errorf("%d planned arrivals %v, want %v", n, got, want)
	}
	if n := s.Backlog(135, 100, func(int64, int64) {}); n != 0 {
		t.Errorf("%d arrivals handed out twice", n)
	}
	sum, samples := int64(0), 0
	n = s.Backlog(135+10*1003, 100, func(_, weight int64) { sum += weight; samples++ })
	if n != 1003 || sum != n || samples < 100 || samples > 110 {
		t.Errorf("%d samples stand for %d of %d arrivals", samples, sum, n)
	}
}

func TestStopWord(t *testing.T) {
	s, stop, _ := section(Config{Gaps: []int64{1 << 60}})
	s.OpenAt(0)
	s.OpenOffset(0)
	stop.Set()
	if k := s.Next(); k != OpLeave {
		t.Errorf("Next after the stop is %v", k)
	}
	stop.Clear()
	if s.Attempted(true) != Admitted {
		t.Error("an acquisition before the stop is not admitted")
	}
	stop.Set()
	if s.Attempted(true) != Leave {
		t.Error("an acquisition after the stop is admitted")
	}
}

func TestSpinIsDeterministic(t *testing.T) {
	if Spin(1, 0) != 1 || Spin(1, 3) != Spin(Spin(1, 1), 2) || Spin(1, 5) == Spin(1, 6) {
		t.Error("Spin does not take n dependent steps")
	}
}
