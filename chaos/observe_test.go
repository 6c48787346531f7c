package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockbench/chaos/actor"
	"lockbench/chaos/witness"
	"lockbench/lock"
)

// TestGrants: what the events of three processes say of who held when.
func TestGrants(t *testing.T) {
	h := byHand(t, leaseInfo, faultHolderKill)
	h.grant("next", 20, 130, 8, 230)
	h.grant("holder", 0, 10, 7, 110)
	h.tell("holder", 50, actor.Event{Ev: actor.EvRenewed, UntilNS: 150 * unit})
	h.tell("holder", 120, actor.Event{Ev: actor.EvLost})
	h.tell("holder", 5, actor.Event{Ev: actor.EvWrote, Actor: 1}) // of an actor without a grant: nothing
	h.at["holder"].ended = 140 * unit
	h.leave("next", 160)
	h.tell("next", 170, actor.Event{Ev: actor.EvLeft}) // the first one counts
	h.grant("second", 30, 180, 0, 0)
	// Its claim ended though no event tells so: its process was killed before it could.
	e := h.play.run.arena.Enter(8, h.play.slot, 0, false)
	left := h.play.run.arena.Exit(8, h.play.slot, e, 0)
	all := h.play.grants()
	type want struct {
		who        string
		asked, at  int64
		token      uint64
		until      []deadline
		lost, left int64
		releases   int
	}
	for i, w := range []want{
		{"holder", 0, 10, 7, []deadline{{10, 110}, {50, 150}}, 120, 140, 0},
		{"next", 20, 130, 8, []deadline{{130, 230}}, 0, 160, 1},
		{"second", 30, 180, 0, nil, 0, left, 0},
	} {
		if len(all) != 3 {
			t.Fatalf("%d grants, want 3", len(all))
		}
		g := all[i]
		if i < 2 { // ms
			w.left *= unit
		}
		if i == 2 && left < g.asked {
			t.Fatal("the shared clock goes from the start of the machine: it is not there yet")
		}
		for j := range w.until {
			w.until[j] = deadline{w.until[j].at * unit, w.until[j].until * unit}
		}
		got := want{g.who.Name, g.asked / unit, g.at / unit, g.token, g.until, g.lost / unit, g.left, len(g.releases)}
		if fmt.Sprint(got) != fmt.Sprint(w) || g.hasToken != (w.token != 0) {
			t.Errorf("grant %d: got %+v, want %+v", i, got, w)
		}
	}
	// What came before the round is not the round's.
	h.play.Holder.skip()
	h.play.Next.skip()
	h.play.Second.skip()
	if all := h.play.grants(); len(all) != 0 {
		t.Errorf("%d grants of events that were skipped", len(all))
	}
}

// TestValid: by the holder's own view, at an instant.
func TestValid(t *testing.T) {
	grace := int64(noticeTime) / unit
	for _, x := range []struct {
		name  string
		until [][2]int64 // known at, until
		lost  int64
		left  int64
		ended int64
		at    int64
		want  bool
	}{
		{"a lease that lasts", [][2]int64{{0, 100}}, 0, 0, 0, 99, true},
		{"at its deadline", [][2]int64{{0, 100}}, 0, 0, 0, 100, false},
		{"after it", [][2]int64{{0, 100}}, 0, 0, 0, 101, false},
		{"renewed", [][2]int64{{0, 100}, {50, 150}}, 0, 0, 0, 120, true},
		{"renewed, and told of that later", [][2]int64{{0, 100}, {130, 220}}, 0, 0, 0, 120, false},
		{"told at that instant", [][2]int64{{0, 100}, {120, 220}}, 0, 0, 0, 120, true},
		{"a shorter one later", [][2]int64{{0, 200}, {50, 100}}, 0, 0, 0, 120, false},
		{"left", [][2]int64{{0, 100}}, 0, 50, 0, 60, false},
		{"left at that instant", [][2]int64{{0, 100}}, 0, 60, 0, 60, false},
		{"left later", [][2]int64{{0, 100}}, 0, 70, 0, 60, true},
		{"knew of the end", [][2]int64{{0, 100}}, 50, 0, 0, 60, false},
		{"knew of the end later", [][2]int64{{0, 100}}, 61, 0, 0, 60, true},
		{"killed", [][2]int64{{0, 100}}, 0, 0, 50, 60, false},
		{"killed later", [][2]int64{{0, 100}}, 0, 0, 61, 60, true},
		{"a session", nil, 0, 0, 0, 1 << 30, true},
		{"a session that was left", nil, 0, 50, 0, 60, false},
		{"whose end is told within the grace", nil, 60 + grace, 0, 0, 60, false},
		{"whose end is told after that", nil, 61 + grace, 0, 0, 60, true},
		{"whose holder leaves within the grace", nil, 0, 60 + grace, 0, 60, false},
		{"whose holder leaves after that", nil, 0, 61 + grace, 0, 60, true},
		{"a lease with a deadline has no grace", [][2]int64{{0, 100}}, 60 + grace, 0, 0, 60, true},
	} {
		g := &grant{who: &Party{ended: x.ended * unit}, lost: x.lost * unit, left: x.left * unit}
		for _, d := range x.until {
			g.until = append(g.until, deadline{d[0] * unit, d[1] * unit})
		}
		if got := g.valid(x.at * unit); got != x.want {
			t.Errorf("%s: until %v, lost %d, left %d, killed %d: valid at %d: got %v, want %v", x.name, x.until, x.lost, x.left, x.ended, x.at, got, x.want)
		}
	}
}

// TestClaims: who was inside beside whom, and whose fault that was.
func TestClaims(t *testing.T) {
	for _, x := range []struct {
		name             string
		make             func(h *hand)
		double, stale    int
		overlap, running time.Duration // ms
	}{
		{"one after the other", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).leave("holder", 100).grant("next", 20, 110, 2, 1100).leave("next", 200)
		}, 0, 0, 0, 0},
		{"alone", func(h *hand) { h.grant("holder", 0, 10, 1, 1000) }, 0, 0, 0, 0},
		{"granted while the lease was valid", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).leave("holder", 100).grant("next", 20, 60, 2, 1100).leave("next", 200)
		}, 1, 0, 40, 40},
		{"the next one leaves first", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).leave("holder", 300).grant("next", 20, 60, 2, 1100).leave("next", 200)
		}, 1, 0, 140, 140},
		{"the holder stays after its lease", func(h *hand) {
			h.grant("holder", 0, 10, 1, 50).leave("holder", 100).grant("next", 20, 60, 2, 1100).leave("next", 200)
		}, 0, 1, 40, 40},
		{"and stood still for most of it", func(h *hand) {
			h.grant("holder", 0, 10, 1, 50).leave("holder", 100).grant("next", 20, 60, 2, 1100).leave("next", 200)
			h.at["holder"].pause = []span{{30 * unit, 90 * unit}}
		}, 0, 1, 40, 10},
		{"both stood still", func(h *hand) {
			h.grant("holder", 0, 10, 1, 50).leave("holder", 100).grant("next", 20, 60, 2, 1100).leave("next", 200)
			h.at["holder"].pause = []span{{30 * unit, 80 * unit}}
			h.at["next"].pause = []span{{85 * unit, 0}}
		}, 0, 1, 40, 5},
		{"the holder was killed in time", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).grant("next", 20, 60, 2, 1100).leave("next", 200)
			h.at["holder"].ended = 50 * unit
		}, 0, 0, 0, 0},
		{"three, the last beside both", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).leave("holder", 100).grant("next", 20, 60, 2, 1100).leave("next", 200).
				grant("second", 30, 80, 3, 1100).leave("second", 90)
		}, 3, 0, 40, 40},
		{"a session told of its end in time", func(h *hand) {
			h.grant("holder", 0, 10, 0, 0).leave("holder", 210).tell("holder", 205, actor.Event{Ev: actor.EvLost}).grant("next", 20, 110, 0, 0).leave("next", 400)
		}, 0, 1, 100, 100},
		{"a session never told", func(h *hand) {
			h.grant("holder", 0, 10, 0, 0).leave("holder", 500).grant("next", 20, 110, 0, 0).leave("next", 400)
		}, 1, 0, 290, 290},
		{"nobody left: no overlap can be told", func(h *hand) {
			h.grant("holder", 0, 10, 1, 50).grant("next", 20, 60, 2, 1100)
		}, 0, 0, 0, 0},
		{"two of one process", func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).
				tell("holder", 20, actor.Event{Ev: actor.EvRequested, Actor: 1}).
				tell("holder", 60, actor.Event{Ev: actor.EvGranted, Actor: 1, Token: 2, HasToken: true, UntilNS: 1060 * unit}).
				tell("holder", 90, actor.Event{Ev: actor.EvLeft, Actor: 1}).leave("holder", 100)
		}, 1, 0, 30, 30},
	} {
		h := byHand(t, leaseInfo, faultHolderPause)
		x.make(h)
		var o Observation
		o.claims(h.play.grants())
		if o.DoubleGrants != x.double || o.StaleHolders != x.stale || o.Overlap != x.overlap*time.Millisecond || o.OverlapRunning != x.running*time.Millisecond {
			t.Errorf("%s: got %d double grants, %d stale holders, %v of overlap, %v without standing still; want %d, %d, %d ms, %d ms", x.name,
				o.DoubleGrants, o.StaleHolders, o.Overlap, o.OverlapRunning, x.double, x.stale, x.overlap, x.running)
		}
		if o.Bad() != (x.double > 0) {
			t.Errorf("%s: bad: got %v: a stale holder is bad only by what it writes", x.name, o.Bad())
		}
	}
}

// TestStores: whose writes came too late, and whether the fenced store took them. Workers 0, 4 and 8 are granted
// in this order.
func TestStores(t *testing.T) {
	const r, w = witness.OpRead, witness.OpWrite
	op := func(kind string, worker int, token uint64, fenced bool) witness.Op {
		return witness.Op{Kind: kind, Worker: worker, Token: token, HasToken: token != 0, Fenced: fenced}
	}
	for _, x := range []struct {
		name                          string
		ops                           []witness.Op
		unfenced, inFenced, rejection int
	}{
		{"nothing", nil, 0, 0, 0},
		{"one after the other", []witness.Op{op(r, 0, 1, true), op(w, 0, 1, true), op(r, 4, 2, true), op(w, 4, 2, true)}, 0, 0, 0},
		{"a late write, refused", []witness.Op{op(r, 0, 1, true), op(r, 4, 2, true), op(w, 0, 1, false)}, 1, 0, 0},
		{"a late write, taken", []witness.Op{op(r, 0, 2, true), op(r, 4, 2, true), op(w, 0, 2, true)}, 1, 1, 0},
		{"a late write without a token", []witness.Op{op(r, 0, 0, true), op(r, 4, 0, true), op(w, 0, 0, true)}, 1, 0, 0},
		{"before the successor has read", []witness.Op{op(r, 0, 1, true), op(w, 0, 1, true), op(r, 4, 2, true)}, 0, 0, 0},
		{"the rightful holder is refused", []witness.Op{op(r, 0, 7, true), op(r, 4, 1, false), op(w, 4, 1, false)}, 0, 0, 2},
		{"and the late one is taken", []witness.Op{op(r, 0, 7, true), op(r, 4, 1, false), op(w, 0, 7, true)}, 1, 1, 1},
		{"a late read is no damage", []witness.Op{op(r, 4, 2, true), op(r, 0, 1, false)}, 0, 0, 0},
		{"a late read does not make its reader current", []witness.Op{op(r, 4, 2, true), op(r, 0, 1, false), op(w, 4, 2, true), op(w, 0, 1, false)}, 1, 0, 0},
		{"a successor who has not read yet", []witness.Op{op(r, 0, 0, true), op(w, 4, 0, true), op(w, 0, 0, true)}, 0, 0, 0},
		{"two late ones", []witness.Op{op(r, 0, 1, true), op(r, 4, 2, true), op(r, 8, 3, true), op(w, 0, 1, false), op(w, 4, 2, false), op(w, 8, 3, true)}, 2, 0, 0},
		{"a stranger's", []witness.Op{op(r, 4, 2, true), op(w, 12, 1, true)}, 0, 0, 0},
	} {
		h := byHand(t, leaseInfo, faultHolderPause)
		h.grant("holder", 0, 10, 1, 50).grant("next", 20, 60, 2, 1100).grant("second", 30, 80, 3, 1100)
		var o Observation
		o.stores(h.play.grants(), x.ops)
		if o.StaleUnfenced != x.unfenced || o.StaleFenced != x.inFenced || o.CurrentRejected != x.rejection {
			t.Errorf("%s: got %d stale writes, %d in the fenced store, %d rejections; want %d, %d, %d", x.name,
				o.StaleUnfenced, o.StaleFenced, o.CurrentRejected, x.unfenced, x.inFenced, x.rejection)
		}
		if o.Bad() != (x.unfenced > 0) || o.Saved() != (x.inFenced+x.rejection == 0) {
			t.Errorf("%s: got bad %v, saved %v", x.name, o.Bad(), o.Saved())
		}
	}
}

// TestAcknowledged: what a service owes, and what it may have beside that.
func TestAcknowledged(t *testing.T) {
	guarded := lock.Info{Name: "tx", Kind: lock.KindGuarded, Remote: &lock.Remote{}}
	optimistic := lock.Info{Name: "version", Kind: lock.KindOptimistic, Remote: &lock.Remote{}}
	lease := leaseInfo
	wrote := func(class string) actor.Event { return actor.Event{Ev: actor.EvWrote, Class: class} }
	released := func(class string) actor.Event { return actor.Event{Ev: actor.EvReleased, Class: class} }
	updated := func(class string) actor.Event { return actor.Event{Ev: actor.EvUpdated, Class: class} }
	for _, x := range []struct {
		name         string
		l            lock.Info
		events       []actor.Event
		killed       bool
		acked, maybe int64
	}{
		{"nothing", guarded, nil, false, 0, 0},
		{"committed", guarded, []actor.Event{wrote(""), wrote(""), released("")}, false, 2, 0},
		{"rolled back", guarded, []actor.Event{wrote(""), wrote(""), released(actor.ClassNotHeld)}, false, 0, 0},
		{"a commit without an answer", guarded, []actor.Event{wrote(""), wrote(""), released(actor.ClassUnknown)}, false, 0, 2},
		{"a commit that timed out", guarded, []actor.Event{wrote(""), released(actor.ClassTimeout)}, false, 0, 1},
		{"not committed yet", guarded, []actor.Event{wrote(""), wrote("")}, false, 0, 2},
		{"killed before it was told", guarded, []actor.Event{wrote("")}, true, 0, 2},
		{"killed after the commit", guarded, []actor.Event{wrote(""), released("")}, true, 1, 1},
		{"a write that was refused", guarded, []actor.Event{wrote(actor.ClassNotHeld), released("")}, false, 0, 0},
		{"a write without an answer", guarded, []actor.Event{wrote(actor.ClassUnknown), released("")}, false, 0, 1},
		{"a release again is not a commit again", guarded, []actor.Event{wrote(""), released(""), released("")}, false, 1, 0},
		{"protected writes of a lease last at once", lease, []actor.Event{wrote(""), wrote(""), wrote(actor.ClassNotHeld), released(actor.ClassUnknown)}, false, 2, 0},
		{"updates", optimistic, []actor.Event{updated(""), updated(actor.ClassNotAcquired), updated(actor.ClassUnknown), updated(actor.ClassTimeout)}, false, 1, 2},
	} {
		h := byHand(t, x.l, faultHolderKill)
		for i, e := range x.events {
			h.tell("holder", int64(i), e)
		}
		if x.killed {
			h.at["holder"].ended = 100 * unit
		}
		if acked, maybe := h.play.acknowledged(); acked != x.acked || maybe != x.maybe {
			t.Errorf("%s: got %d acknowledged, %d more perhaps; want %d, %d", x.name, acked, maybe, x.acked, x.maybe)
		}
	}
}

func TestUpdates(t *testing.T) {
	for _, x := range []struct{ value, acked, maybe, want int64 }{
		{5, 5, 0, 0}, {4, 5, 0, 1}, {6, 5, 0, -1}, {5, 5, 2, 0}, {6, 5, 2, 0}, {7, 5, 2, 0}, {8, 5, 2, -1}, {3, 5, 2, 2}, {0, 0, 0, 0}, {-1, 0, 0, 1},
	} {
		var o Observation
		o.updates(x.value, x.acked, x.maybe)
		if o.LostUpdates != x.want || o.Bad() != (x.want != 0) {
			t.Errorf("value %d, %d acknowledged, %d more perhaps: got %d lost, bad %v; want %d", x.value, x.acked, x.maybe, o.LostUpdates, o.Bad(), x.want)
		}
	}
}

// TestMoments: when the next one got in, when the holder knew, how long nobody held.
func TestMoments(t *testing.T) {
	none := time.Duration(-1)
	for _, x := range []struct {
		name                           string
		f                              Fault
		make                           func(h *hand)
		injected                       int64
		recovery, detection, gap, past time.Duration // ms; none: there is none
	}{
		{"no fault came", faultHolderKill, func(h *hand) { h.grant("holder", 0, 10, 1, 110).grant("next", 20, 60, 2, 200) }, 0, none, none, none, none},
		{"killed", faultHolderKill, func(h *hand) {
			h.grant("holder", 0, 10, 1, 110).grant("next", 20, 115, 2, 200)
			h.at["holder"].ended = 50 * unit
		}, 50, 65, none, 65, 5},
		{"paused: it learns of the end afterwards", faultHolderPause, func(h *hand) {
			h.grant("holder", 0, 10, 1, 110).tell("holder", 300, actor.Event{Ev: actor.EvLost}).leave("holder", 310).grant("next", 20, 120, 2, 200)
		}, 50, 70, 180, 0, 10},
		{"it knew before", faultHolderCutoff, func(h *hand) {
			h.grant("holder", 0, 10, 1, 110).tell("holder", 111, actor.Event{Ev: actor.EvLost}).leave("holder", 112).grant("next", 20, 120, 2, 200)
		}, 50, 70, 0, 8, none},
		{"nobody got in", faultHolderPause, func(h *hand) { h.grant("holder", 0, 10, 1, 110) }, 50, none, none, none, none},
		{"who got in before the fault does not count", faultHolderPause, func(h *hand) {
			h.grant("holder", 0, 10, 1, 110).grant("next", 20, 40, 2, 200).grant("second", 30, 90, 3, 200)
		}, 50, 40, none, none, none},
		{"waiters: from the release on", faultWaiterKill, func(h *hand) {
			h.grant("holder", 0, 10, 1, 1000).leave("holder", 100).grant("second", 20, 130, 2, 200)
		}, 50, 30, none, 30, none},
		{"a late release: nobody recovers from it", faultStaleUnlock, func(h *hand) {
			h.grant("holder", 0, 10, 1, 40).leave("holder", 51).grant("next", 20, 60, 2, 200)
		}, 50, none, none, none, none},
		{"renewed: the last deadline counts", faultHolderKill, func(h *hand) {
			h.grant("holder", 0, 10, 1, 110).tell("holder", 45, actor.Event{Ev: actor.EvRenewed, UntilNS: 145 * unit}).grant("next", 20, 150, 2, 250)
			h.at["holder"].ended = 50 * unit
		}, 50, 100, none, 100, 5},
	} {
		h := byHand(t, leaseInfo, x.f)
		x.make(h)
		o := Observation{Injection: Injection{InjectedNS: x.injected * unit}}
		h.play.moments(&o, h.play.grants())
		for _, m := range []struct {
			what string
			got  *time.Duration
			want time.Duration
		}{{"recovery", o.Recovery, x.recovery}, {"detection", o.Detection, x.detection}, {"gap", o.Gap, x.gap}, {"past the deadline", o.Past, x.past}} {
			switch {
			case m.got == nil && m.want != none:
				t.Errorf("%s: %s: got none, want %d ms", x.name, m.what, m.want)
			case m.got != nil && *m.got != m.want*time.Millisecond:
				t.Errorf("%s: %s: got %v, want %d ms", x.name, m.what, *m.got, m.want)
			}
		}
	}
	// The TTL as granted is what the holder takes for it: from its request on.
	h := byHand(t, leaseInfo, faultHolderKill)
	h.grant("holder", 5, 10, 1, 105)
	o := Observation{Injection: Injection{InjectedNS: 50 * unit}}
	if h.play.moments(&o, h.play.grants()); o.OwnTTL != 100*time.Millisecond {
		t.Errorf("the TTL: got %v, want 100 ms", o.OwnTTL)
	}
}

// TestProber: how long the service granted nothing to anybody.
func TestProber(t *testing.T) {
	probes := func(at ...int64) *hand {
		h := byHand(t, leaseInfo, faultServerPause)
		for _, a := range at {
			h.tell("second", a, actor.Event{Ev: actor.EvProbed, Actor: probeActor})
		}
		h.tell("second", 5000, actor.Event{Ev: actor.EvProbed}) // another actor's
		return h
	}
	for _, x := range []struct {
		name     string
		at       []int64
		injected int64
		gap, end int64
	}{
		{"none", nil, 100, 0, 0},
		{"one", []int64{150}, 100, 0, 0},
		{"the longest around the fault", []int64{10, 60, 400, 450, 600}, 100, 340, 400},
		{"a longer one before it does not count", []int64{10, 900, 950, 1000, 1100}, 920, 100, 1100},
		{"of two the longer", []int64{90, 200, 500, 600}, 100, 300, 500},
	} {
		h := probes(x.at...)
		gap, end := h.play.available(x.injected * unit)
		if gap != time.Duration(x.gap*unit) || end != x.end*unit {
			t.Errorf("%s: %v, fault at %d: got %v until %d, want %d ms until %d", x.name, x.at, x.injected, gap, end/unit, x.gap, x.end)
		}
	}
	// The holder keeps the lock through it: what counts is when the service was back.
	h := probes(60, 90, 400, 450)
	h.grant("holder", 0, 10, 1, 1000).leave("holder", 500).grant("next", 20, 510, 2, 1500)
	o := Observation{Injection: Injection{InjectedNS: 100 * unit}}
	h.play.moments(&o, h.play.grants())
	if o.Gap == nil || *o.Gap != 310*time.Millisecond || o.Recovery == nil || *o.Recovery != 300*time.Millisecond {
		t.Errorf("the lock was kept: got gap %v, recovery %v, want 310 ms and 300 ms", o.Gap, o.Recovery)
	}
}

// TestEarly: a lease that ended before any fault says something of the machine only.
func TestEarly(t *testing.T) {
	for _, x := range []struct {
		f              Fault
		lost, injected int64
		want           bool
	}{
		{faultHolderPause, 40, 50, true},
		{faultHolderPause, 60, 50, false},
		{faultHolderPause, 0, 50, false},
		{faultNone, 60, 50, true}, // nothing was done, at no time
		{faultWaiterKill, 40, 50, true},
		{faultRenewalStop, 40, 50, false}, // nobody renews it
		{faultStaleUnlock, 40, 50, false},
	} {
		h := byHand(t, leaseInfo, x.f)
		h.grant("holder", 0, 10, 1, 35)
		if x.lost != 0 {
			h.tell("holder", x.lost, actor.Event{Ev: actor.EvLost})
		}
		h.play.obs.Injection.InjectedNS = x.injected * unit
		if got := h.play.early(h.play.grants()); got != x.want {
			t.Errorf("%s, lost at %d, injected at %d: got %v, want %v", x.f.Name, x.lost, x.injected, got, x.want)
		}
	}
}

// TestWithout: what was there before is no orphan.
func TestWithout(t *testing.T) {
	a, b := []string{"counter", "k1", "k2"}, []string{"counter"}
	if got := without(a, b); !slices.Equal(got, []string{"k1", "k2"}) || len(a) != 3 {
		t.Errorf("got %q of %q", got, a)
	}
}
