package actor

import (
	"slices"
	"testing"
	"time"

	"lockbench/chaos/witness"
)

// A whole stay: every event, in order, with what it carries, and what the arena and the witness saw.
func TestSection(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	g, e := r.enter(acquire(1))
	asked := r.awaitID(g.ID, EvRequested)
	if !(0 < asked.AtNS && asked.AtNS <= g.CalledNS && g.CalledNS <= g.AtNS && g.AtNS <= e.CalledNS && e.CalledNS <= e.AtNS) {
		t.Errorf("stamps: asked %d, called %d, granted %d, claimed %d, entered %d: want none before that on its left",
			asked.AtNS, g.CalledNS, g.AtNS, e.CalledNS, e.AtNS)
	}
	if !g.HasToken || g.Token != 1 || g.UntilNS-g.CalledNS != g.OwnTTLNS || g.OwnTTLNS < int64(time.Minute) || g.OwnTTLNS > int64(2*time.Minute) {
		t.Errorf("granted: got %+v, want token 1 and a minute", g)
	}
	if e.Value != 0 || e.Met != 0 || e.Class != "" || e.Fenced == nil || !*e.Fenced {
		t.Errorf("entered: got %+v", e)
	}
	if !r.arena.Busy(0) {
		t.Error("no claim stands")
	}
	id := r.do(work(1, Careful))
	r.awaitID(id, EvWrote)
	r.do(Command{Do: DoFinish, Actor: 1})
	if e := r.awaitID(id, EvStopped); e.Class != StopFinish {
		t.Errorf("stopped: got %+v", e)
	}
	id = r.do(Command{Do: DoRelease, Actor: 1})
	released := r.awaitID(id, EvReleased)
	left := r.awaitID(id, EvLeft)
	if released.Class != "" || left.AtNS > released.CalledNS || released.CalledNS > released.AtNS {
		t.Errorf("left %+v, released %+v", left, released)
	}
	if r.arena.Busy(0) {
		t.Error("the claim still stands")
	}
	if ring := r.arena.Ring(1); len(ring) != 1 || ring[0].Exit != left.AtNS || ring[0].Enter != e.CalledNS || ring[0].Token != 1 {
		t.Errorf("claims: got %+v", ring)
	}
	got := slices.Compact(r.kinds(1, EvRenewed))
	if want := []string{EvRequested, EvGranted, EvEntered, EvWrote, EvStopped, EvLeft, EvReleased}; !slices.Equal(got, want) {
		t.Errorf("events: got %q, want %q", got, want)
	}
	ops := w.Log("k")
	for i, op := range ops {
		want := witness.OpWrite
		if i == 0 {
			want = witness.OpRead
		}
		if op.Kind != want || op.Worker != 1 || op.Token != 1 || !op.HasToken || !op.Fenced || op.Value != int64(i) {
			t.Errorf("the witness's %d-th: got %+v", i, op)
		}
	}
	if n := r.count(EvWrote); len(ops) != n+1 {
		t.Errorf("the witness has %d, want a reading and %d writes", len(ops), n)
	}
	for i, e := range r.log {
		if e.Ev == EvWrote && (e.Unfenced == nil || !*e.Unfenced || e.Fenced == nil || !*e.Fenced || e.Value < 1 || e.CalledNS > e.AtNS) {
			t.Errorf("event %d: got %+v", i, e)
		}
	}
}

// A holder that checked and then stood still writes after the next one has read: the fenced store
// refuses it, the unfenced one does not. Then it notices and leaves.
func TestOvertaken(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	c := acquire(0)
	c.Options.Renew, c.Options.TTL = false, 50*time.Millisecond
	g, _ := r.enter(c)
	c = work(0, Careful)
	c.Point = PointWrite
	id := r.do(c)
	p := r.awaitID(id, EvPoint, EvStopped)
	for tries := 0; p.Ev == EvStopped; tries++ { // the machine was slower than the lease: once more
		if p.Class != StopLost || tries == 100 {
			t.Fatalf("got %+v", p)
		}
		r.do(Command{Do: DoRelease})
		a := acquire(0)
		a.Options.Renew, a.Options.TTL = false, 50*time.Millisecond
		g, _ = r.enter(a)
		id = r.do(c)
		p = r.awaitID(id, EvPoint, EvStopped)
	}
	if p.Point != PointWrite {
		t.Errorf("point: got %+v", p)
	}
	_, next := r.enter(acquire(1))
	if lost := r.awaitID(g.ID, EvLost); lost.Actor != 0 || lost.AtNS < g.UntilNS {
		t.Errorf("lost: got %+v, valid until %d", lost, g.UntilNS)
	}
	if next.Met != 1 {
		t.Errorf("the next one met %d, want 1: actor 0, which still stands inside", next.Met)
	}
	r.do(Command{Do: DoGo})
	wrote := r.awaitID(id, EvWrote)
	if wrote.Unfenced == nil || !*wrote.Unfenced || wrote.Fenced == nil || *wrote.Fenced {
		t.Errorf("wrote: got %+v, want that the unfenced store takes it and the fenced one does not", wrote)
	}
	left, stopped := r.awaitID(id, EvLeft), r.awaitID(id, EvStopped)
	if stopped.Class != StopLost || left.AtNS > stopped.AtNS || r.count(EvLost) < 1 {
		t.Errorf("left %+v, stopped %+v", left, stopped)
	}
	if a := r.arena.Audit(); a.Stale < 1 || a.Overlaps != 0 {
		t.Errorf("claims: got %+v, want a stale holder and no overlap", a)
	}
}

// A careless holder sees nothing: it writes on after its lease is lost.
func TestCareless(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	c := acquire(0)
	c.Options.Renew, c.Options.TTL, c.Options.Fence = false, 20*time.Millisecond, false
	g, e := r.enter(c)
	if g.HasToken || e.Fenced != nil {
		t.Errorf("without a token: granted %+v, entered %+v", g, e)
	}
	id := r.do(work(0, Careless))
	_, at := r.seek(0, func(e Event) bool { return e.Ev == EvLost && e.ID == g.ID })
	e, _ = r.seek(at, func(e Event) bool { return e.Ev == EvWrote })
	if e.Unfenced == nil || !*e.Unfenced || e.Fenced != nil {
		t.Errorf("wrote: got %+v", e)
	}
	r.do(Command{Do: DoFinish})
	r.awaitID(id, EvStopped)
	if n := r.count(EvLeft); n != 0 {
		t.Errorf("it left %d times without being told", n)
	}
	if r.count(EvLost) != 1 {
		t.Errorf("lost: told %d times", r.count(EvLost))
	}
	// Released twice, the claim is given up once.
	first, second := r.do(Command{Do: DoRelease}), r.do(Command{Do: DoRelease})
	if a, b := r.awaitID(first, EvReleased), r.awaitID(second, EvReleased); a.Class != ClassNotHeld || b.Class != ClassNotHeld {
		t.Errorf("released %+v, and again %+v, want that both are not held", a, b)
	}
	if n := r.count(EvLeft); n != 1 {
		t.Errorf("it left %d times", n)
	}
}

// Points at which an actor stands: nothing comes until it is told to go.
func TestPoints(t *testing.T) {
	for _, x := range []struct {
		c     Command
		after string // the event that comes after the point
	}{
		{Command{Do: DoWork, Policy: Careful, Point: PointAcquired}, EvWrote},
		{Command{Do: DoWork, Policy: Careful, Point: PointWrite}, EvWrote},
		{Command{Do: DoWork, Policy: Careless, Point: PointWrite}, EvWrote},
		{Command{Do: DoRelease, Point: PointRelease}, EvReleased},
	} {
		t.Run(x.c.Do+" "+x.c.Policy+" "+x.c.Point, func(t *testing.T) {
			s, w := server(t), witnessOf(t)
			r := start(t, control(t, "control-ttl"), w.Path(), nil)
			r.dial(s.Addr())
			r.enter(acquire(0))
			id := r.do(x.c)
			if e := r.awaitID(id, EvPoint); e.Point != x.c.Point {
				t.Errorf("got %+v", e)
			}
			// What another actor does meanwhile takes longer than what this one would do next.
			c := acquire(1)
			c.Key, c.Slot = "other", 1
			r.enter(c)
			got := r.kinds(0, EvRenewed)
			if last := got[len(got)-1]; last != EvPoint {
				t.Errorf("it did not stand: %q", got)
			}
			r.do(Command{Do: DoGo})
			r.awaitID(id, x.after)
			r.do(Command{Do: DoFinish})
			r.do(Command{Do: DoHangup})
			r.await(0, EvClosed)
		})
	}
}

// Told to go before it stands there, an actor passes.
func TestGoBefore(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.do(Command{Do: DoDial, Target: target(s.Addr())})
	r.do(acquire(0))
	c := work(0, Careful)
	c.Point = PointAcquired
	id := r.do(c)
	r.do(Command{Do: DoGo})
	r.do(Command{Do: DoGo})
	r.awaitID(id, EvPoint)
	r.awaitID(id, EvWrote)
	r.do(Command{Do: DoFinish})
	r.awaitID(id, EvStopped)
}

// Silent actors touch no store.
func TestSilent(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	c := acquire(0)
	c.Silent = true
	r.enter(c)
	c = work(0, Careful)
	c.Silent, c.Point = true, PointWrite
	id := r.do(c)
	r.awaitID(id, EvPoint)
	r.do(Command{Do: DoFinish})
	r.do(Command{Do: DoGo})
	r.awaitID(id, EvStopped)
	if ops := w.Log("k"); len(ops) != 0 || r.count(EvWrote) != 0 {
		t.Errorf("the witness has %+v, and %d writes were told", ops, r.count(EvWrote))
	}
}
