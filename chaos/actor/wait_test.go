package actor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/lock"
)

// Who waits can be sent away: also before it has begun to wait.
func TestCancel(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	r.enter(acquire(0))
	id := r.do(acquire(1))
	r.awaitID(id, EvRequested)
	queued(t, s.Addr(), 1)
	second := r.do(acquire(1)) // waits for the first
	r.do(Command{Do: DoCancel, Actor: 1})
	e := r.awaitID(id, EvRefused, EvGranted)
	if e.Ev != EvRefused || e.Class != ClassCanceled || e.Text == "" || e.CalledNS > e.AtNS {
		t.Errorf("got %+v", e)
	}
	if e := r.awaitID(second, EvRefused, EvFailed, EvGranted); e.Class != ClassCanceled {
		t.Errorf("the one behind it: got %+v", e)
	}
	queued(t, s.Addr(), 0)
	// Nobody is hit by a cancel that comes too late.
	r.do(Command{Do: DoCancel, Actor: 1})
	c := acquire(1)
	c.LimitNS = int64(time.Millisecond)
	if e := r.awaitID(r.do(c), EvRefused, EvGranted); e.Class != ClassTimeout {
		t.Errorf("after its limit: got %+v", e)
	}
	c = acquire(1)
	c.Options.Try = true
	if e := r.awaitID(r.do(c), EvRefused, EvGranted); e.Class != ClassNotAcquired {
		t.Errorf("a try: got %+v", e)
	}
	id = r.do(acquire(1))
	queued(t, s.Addr(), 1)
	r.do(Command{Do: DoRelease, Actor: 0})
	r.awaitID(id, EvEntered)
}

// A grant that the cancel did not stop is one.
func TestGrantedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{acquire: func(ctx context.Context, _ lock.AcquireOptions) (lock.Lease, error) {
			<-ctx.Done()
			return newLease(time.Time{}), nil
		}}
		r := fakeRig(t, f, &fakeStores{})
		id := r.do(acquire(0))
		r.awaitID(id, EvRequested)
		r.do(Command{Do: DoCancel})
		r.awaitID(id, EvGranted)
		if e := r.awaitID(id, EvEntered); e.Value != 7 || e.Class != "" {
			t.Errorf("entered: got %+v", e)
		}
	})
}

// A lock that lets everybody in: the second one meets the first.
func TestMet(t *testing.T) {
	w := witnessOf(t)
	r := start(t, control(t, "null-lease"), w.Path(), nil)
	r.dial("nowhere")
	_, first := r.enter(acquire(2))
	_, second := r.enter(acquire(3))
	if first.Met != 0 || second.Met != 1+2 {
		t.Errorf("met: got %d and %d, want 0 and 3", first.Met, second.Met)
	}
	if e := r.awaitID(r.do(acquire(3)), EvFailed, EvGranted); e.Ev != EvFailed {
		t.Errorf("a second lease of one actor: got %+v", e)
	}
}

// A probe acquires and releases until it is told to finish; while somebody else has the key, it tells nothing.
func TestProbe(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-ttl"), w.Path(), nil)
	r.dial(s.Addr())
	c := acquire(2)
	c.Do, c.Key, c.EveryNS, c.LimitNS = DoProbe, "probe", int64(time.Millisecond), int64(50*time.Millisecond)
	c.Options.Wait = lock.WaitPolicy{Min: 1, Max: 1}
	id := r.do(c)
	last := int64(0)
	for at := 0; at < 3; at++ {
		e, _ := r.seek(0, func(e Event) bool { return e.ID == id && e.Ev == EvProbed && e.AtNS > last })
		if last = e.AtNS; e.CalledNS > e.AtNS || e.Actor != 2 {
			t.Errorf("got %+v", e)
		}
	}
	taken := acquire(0)
	taken.Key = "probe"
	g, _ := r.enter(taken)
	refused := r.count(EvProbed) // at most one more was on its way
	time.Sleep(100 * time.Millisecond)
	if n := r.count(EvProbed); n > refused+1 {
		t.Errorf("%d probes while the key was held since %+v", n-refused, g)
	}
	released := r.awaitID(r.do(Command{Do: DoRelease}), EvReleased)
	r.seek(0, func(e Event) bool { return e.Ev == EvProbed && e.AtNS > released.CalledNS })
	r.do(Command{Do: DoFinish, Actor: 2})
	if e := r.awaitID(id, EvStopped); e.Class != StopFinish {
		t.Errorf("stopped: got %+v", e)
	}
	// What the last one was granted is given back.
	again := acquire(1)
	again.Key = "probe"
	r.enter(again)
}

// An update stands between its first reading and its write; what is written meanwhile makes it try again.
func TestUpdate(t *testing.T) {
	o := &fakeOptimistic{value: 3}
	info := lock.Info{Name: "fake", Dial: func(context.Context, lock.Target) (lock.Client, error) { return o, nil }}
	r := start(t, info, "", nil)
	r.dial("nowhere")
	c := Command{Do: DoUpdate, Actor: 1, Key: "k", Point: PointWrite}
	id := r.do(c)
	r.awaitID(id, EvRequested)
	r.awaitID(id, EvPoint)
	other := Command{Do: DoUpdate, Actor: 2, Key: "k"}
	if e := r.awaitID(r.do(other), EvUpdated); e.Class != "" || e.Attempts != 1 {
		t.Errorf("the other's: got %+v", e)
	}
	r.do(Command{Do: DoGo, Actor: 1})
	if e := r.awaitID(id, EvUpdated); e.Class != "" || e.Attempts != 2 || e.CalledNS > e.AtNS {
		t.Errorf("got %+v, want 2 attempts", e)
	}
	if e := r.awaitID(r.do(Command{Do: DoValue, Key: "k"}), EvValue); e.Value != 5 {
		t.Errorf("value: got %+v, want 5", e)
	}
	id = r.do(c)
	r.awaitID(id, EvPoint)
	r.do(Command{Do: DoCancel, Actor: 1})
	if e := r.awaitID(id, EvUpdated); e.Class != ClassCanceled || e.Attempts != 1 {
		t.Errorf("cancelled: got %+v", e)
	}
	c.Point, c.LimitNS = "", 1 // over at once
	if e := r.awaitID(r.do(c), EvUpdated); e.Class != ClassTimeout {
		t.Errorf("after its limit: got %+v", e)
	}
	for _, c := range []Command{acquire(0), {Do: DoProbe, Key: "k", Options: acquire(0).Options}} {
		if e := r.awaitID(r.do(c), EvFailed, EvGranted); e.Class != ClassUnsupported {
			t.Errorf("%s: got %+v", c.Do, e)
		}
	}
}

// Commands that nothing can be done about fail, with a class, and the process goes on.
func TestFailures(t *testing.T) {
	s := server(t)
	r := start(t, control(t, "control-ttl"), "", nil)
	silent := acquire(0)
	silent.Silent = true
	fails := func(c Command, class string) {
		t.Helper()
		if e := r.awaitID(r.do(c), EvFailed, EvGranted, EvReleased, EvStopped, EvValue, EvDialled); e.Ev != EvFailed || e.Class != class || e.Text == "" {
			t.Errorf("%+v: got %+v, want that it fails with %q", c, e, class)
		}
	}
	fails(silent, ClassError) // no connection
	bad := target("127.0.0.1:1")
	fails(Command{Do: DoDial, Target: bad}, ClassError)
	fails(silent, ClassError) // none still
	r.dial(s.Addr())
	fails(Command{Do: DoDial, Target: target(s.Addr())}, ClassError) // one already
	fails(Command{Do: DoRelease}, ClassError)
	fails(work(0, Careful), ClassError)
	fails(acquire(0), ClassError) // no witness
	for _, c := range []Command{{Slot: 4}, {Slot: -1}, {Worker: 2 * MaxActors}, {Worker: -1}} {
		x := silent
		x.Slot, x.Worker = c.Slot, c.Worker
		fails(x, ClassError)
	}
	fails(Command{Do: DoUpdate, Key: "k"}, ClassUnsupported)
	for _, do := range []string{DoGo, DoFinish, DoCancel} {
		r.do(Command{Do: do})
	}
	r.enter(silent)
	fails(work(0, Careful), ClassError) // no witness
	fails(work(0, Protected), ClassUnsupported)
}

// More commands of an actor than can wait are refused.
func TestTooManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRig(t, grants(), &fakeStores{})
		var last int
		for range maxQueue + 1 {
			last = r.do(acquire(0))
		}
		if e := r.awaitID(last, EvFailed); e.Text != errQueue.Error() {
			t.Errorf("got %+v", e)
		}
	})
}

// A dial that the hangup cuts short.
func TestHangupWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := grants()
		info := f.info()
		info.Dial = func(ctx context.Context, _ lock.Target) (lock.Client, error) {
			<-ctx.Done()
			return nil, errors.Join(errors.New("nobody answers"), ctx.Err())
		}
		r := start(t, info, "", &fakeStores{})
		id := r.do(Command{Do: DoDial, Target: target("nowhere")})
		waits := r.do(acquire(0))
		synctest.Wait()
		bye := r.do(Command{Do: DoHangup})
		if e := r.awaitID(id, EvFailed); e.Class != ClassCanceled {
			t.Errorf("dial: got %+v", e)
		}
		r.awaitID(waits, EvFailed)
		if e := r.awaitID(bye, EvClosed); e.Class != "" {
			t.Errorf("closed: got %+v", e)
		}
		// By itself a dial ends, too.
		began := time.Now()
		id = r.do(Command{Do: DoDial, Target: target("nowhere")})
		if e := r.awaitID(id, EvFailed); e.Class != ClassTimeout || time.Since(began) != 10*time.Second {
			t.Errorf("dial: got %+v after %v", e, time.Since(began))
		}
	})
}
