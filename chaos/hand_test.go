package chaos

import (
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/chaos/actor"
	"lockbench/chaos/witness"
	"lockbench/internal/claims"
	"lockbench/lock"
)

// unit is what stamps of hand-made rounds are multiples of: cases give them in ms.
const unit = int64(time.Millisecond)

// hand is a round that was made by hand: what its three processes are supposed to have told, in ms.
type hand struct {
	t    testing.TB
	play *Play
	at   map[string]*Party
}

// byHand is a round of a lock under a fault, without any event. Its parties are processes 0, 1 and 2, so the holder's
// actor 0 is worker 0 and the next one's is worker 4.
func byHand(t testing.TB, l lock.Info, f Fault) *hand {
	t.Helper()
	a, _, err := claims.Create(t.TempDir(), 4, 4*actor.MaxActors, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := witness.Serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &Cell{Lock: l, Topology: backends.Topology{Name: "loopback", Service: lock.ServiceLoopback}, Fault: f, Policy: Careless}
	if l.Kind != lock.KindLease {
		c.Policy = Protected
	}
	h := &hand{t: t, at: map[string]*Party{}}
	h.play = &Play{Cell: c, fault: f, run: &run{arena: a, witness: w, o: Options{Rounds: 1, Seed: 1}}, times: TimesOf("loopback", 0, 0, f), slot: 1}
	for i, to := range []struct {
		name string
		at   **Party
	}{{"holder", &h.play.Holder}, {"next", &h.play.Next}, {"second", &h.play.Second}} {
		*to.at = &Party{Name: to.name, proc: &process{index: i}}
		h.at[to.name] = *to.at
	}
	return h
}

// tell appends an event; at is in ms.
func (h *hand) tell(who string, at int64, e actor.Event) *hand {
	h.t.Helper()
	p := h.at[who]
	if p == nil {
		h.t.Fatalf("nobody is %q", who)
	}
	e.AtNS = at * unit
	p.proc.log = append(p.proc.log, e)
	return h
}

// grant is a request and what came of it, with a token if it is not 0 and a deadline if it is not 0.
func (h *hand) grant(who string, asked, at int64, token uint64, until int64) *hand {
	h.t.Helper()
	return h.tell(who, asked, actor.Event{Ev: actor.EvRequested}).
		tell(who, at, actor.Event{Ev: actor.EvGranted, Token: token, HasToken: token != 0, UntilNS: until * unit})
}

// leave is the end of a claim, and a release that went well 1 ms later.
func (h *hand) leave(who string, at int64) *hand {
	h.t.Helper()
	return h.tell(who, at, actor.Event{Ev: actor.EvLeft}).tell(who, at+1, actor.Event{Ev: actor.EvReleased, CalledNS: at * unit})
}

var (
	leaseInfo = lock.Info{Name: "lease", Kind: lock.KindLease, Remote: &lock.Remote{Expires: true, Renews: true, Fences: true}}
	bareInfo  = lock.Info{Name: "bare", Kind: lock.KindLease, Remote: &lock.Remote{}}
)
