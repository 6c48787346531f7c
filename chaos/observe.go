package chaos

import (
	"slices"
	"time"

	"lockbench/chaos/actor"
	"lockbench/chaos/linear"
	"lockbench/chaos/timeline"
	"lockbench/chaos/witness"
	"lockbench/lock"
)

// noticeTime is how long a holder whose lock has no deadline of its own may take to notice that its session has
// ended before a grant beside it counts as double: what reaches it then is the end of its connection, which is on its way.
const noticeTime = 200 * time.Millisecond

// Observation is what was seen in one round.
type Observation struct {
	Round     int
	Felt      bool
	Stuck     bool   // all went as planned, and nobody got in
	Probative bool   // somebody was granted next, and the holder had its chance to do harm
	Why       string // why not
	Injection Injection

	DoubleGrants  int // granted while another's lease was valid by that one's own view
	StaleHolders  int // a claim went on beside the next one's, after its lease
	StaleUnfenced int // writes of a holder whose successor had read the stores, taken by the unfenced store
	// By the fenced store; meaningless without tokens.
	StaleFenced, CurrentRejected int
	// Of guarded and optimistic locks: acknowledged updates that are not in the service's value (positive), or updates
	// there that nobody had acknowledged or may have made (negative).
	LostUpdates int64

	Overlap, OverlapRunning  time.Duration
	Recovery, Detection, Gap *time.Duration
	Past                     *time.Duration // from the holder's own deadline to the next grant
	OwnTTL                   time.Duration  // of the holder's lease, by its own view
	Orphans                  []string
	// Linear is what Porcupine says, "" where nobody asked; LinearWhy what has no place in any order.
	Linear, LinearWhy string
	picture           linear.Result
	Lines             []timeline.Line
	Slot              int
}

// Bad reports whether the round shows the lock to be unsafe.
func (o *Observation) Bad() bool {
	return o.DoubleGrants > 0 || o.StaleUnfenced > 0 || o.LostUpdates != 0 || o.Linear == linear.No
}

// Saved reports whether the fenced store stayed clean.
func (o *Observation) Saved() bool { return o.StaleFenced == 0 && o.CurrentRejected == 0 }

// grant is one stay of one actor.
type grant struct {
	who      *Party
	actor    int
	worker   int
	asked    int64
	at       int64 // Acquire had returned
	token    uint64
	hasToken bool
	until    []deadline // its own deadlines, as they became known
	lost     int64      // Lost was closed; 0: it was not
	left     int64      // the claim ended: given up, or the process was killed; 0: not at all
	releases []attempt
}

type deadline struct{ at, until int64 }

// attempt is a call of Release; to < 0: it has not returned.
type attempt struct {
	from, to int64
	class    string
}

// grants are all of a round, in the order in which they were made.
func (p *Play) grants() []*grant {
	var all []*grant
	for _, who := range p.parties() {
		open := map[int]*grant{}
		asked := map[int]int64{}
		for _, e := range who.events() {
			g := open[e.Actor]
			switch {
			case e.Ev == actor.EvRequested:
				asked[e.Actor] = e.AtNS
			case e.Ev == actor.EvGranted:
				g = &grant{who: who, actor: e.Actor, worker: who.Worker(e.Actor), asked: asked[e.Actor], at: e.AtNS, token: e.Token, hasToken: e.HasToken}
				if e.UntilNS != 0 {
					g.until = append(g.until, deadline{e.AtNS, e.UntilNS})
				}
				open[e.Actor] = g
				all = append(all, g)
			case g == nil:
			case e.Ev == actor.EvRenewed:
				g.until = append(g.until, deadline{e.AtNS, e.UntilNS})
			case e.Ev == actor.EvLost:
				g.lost = e.AtNS
			case e.Ev == actor.EvLeft && g.left == 0:
				g.left = e.AtNS
			case e.Ev == actor.EvReleased:
				g.releases = append(g.releases, attempt{max(g.left, e.CalledNS), e.AtNS, e.Class})
			}
		}
		for _, g := range open {
			if g.left == 0 {
				g.left = p.run.exit(g, p.slot)
			}
			if g.left == 0 {
				g.left = who.ended
			}
		}
	}
	slices.SortFunc(all, func(a, b *grant) int { return int(a.at - b.at) })
	return all
}

// valid reports whether a holder's lease was valid at an instant, by its own view.
func (g *grant) valid(at int64) bool {
	grace := int64(0)
	if len(g.until) == 0 {
		grace = int64(noticeTime)
	}
	for _, end := range []int64{g.left, g.who.ended, g.lost} {
		if end != 0 && end <= at+grace {
			return false
		}
	}
	until := int64(0)
	for _, d := range g.until {
		if d.at <= at || until == 0 {
			until = d.until
		}
	}
	return until == 0 || until > at
}

// claims compares each grant with those before it.
func (o *Observation) claims(all []*grant) {
	for i, b := range all {
		for _, a := range all[:i] {
			double := a.valid(b.at)
			if double {
				o.DoubleGrants++
			}
			if a.left != 0 && a.left <= b.at {
				continue
			}
			end := min(nonzero(a.left), nonzero(b.left))
			if end == forever { // both are still inside when the round is judged: it has not ended well
				continue
			}
			if !double {
				o.StaleHolders++
			}
			o.Overlap = max(o.Overlap, time.Duration(end-b.at))
			run := end - b.at
			for _, s := range slices.Concat(a.who.pause, b.who.pause) {
				from, to := max(s.From, b.at), min(nonzero(s.To), end)
				run -= max(0, to-from)
			}
			o.OverlapRunning = max(o.OverlapRunning, time.Duration(max(0, run)))
		}
	}
}

const forever = int64(1<<63 - 1)

func nonzero(t int64) int64 {
	if t == 0 {
		return forever
	}
	return t
}

// stores looks for writes of holders whose successor had registered.
func (o *Observation) stores(all []*grant, ops []witness.Op) {
	at := map[int]int64{} // worker -> its grant
	for _, g := range all {
		at[g.worker] = g.at
	}
	latest := int64(-1) // grant of the latest holder that has read
	for _, op := range ops {
		mine, ok := at[op.Worker]
		if !ok {
			continue
		}
		stale := mine < latest
		switch {
		case stale && op.Kind == witness.OpWrite:
			o.StaleUnfenced++
			if op.HasToken && op.Fenced {
				o.StaleFenced++
			}
		case !stale && op.HasToken && !op.Fenced:
			o.CurrentRejected++
		}
		if op.Kind == witness.OpRead {
			latest = max(latest, mine)
		}
	}
}

// acknowledged sums the updates that a service owes, of guarded writes and optimistic updates: acked it must have, maybe
// more it may have.
func (p *Play) acknowledged() (acked, maybe int64) {
	for _, who := range p.parties() {
		pending := map[int]int64{} // of a transaction that has not been committed
		for _, e := range who.events() {
			switch {
			case e.Ev == actor.EvUpdated && e.Class == actor.ClassOK:
				acked++
			case e.Ev == actor.EvUpdated && e.Class != actor.ClassNotAcquired:
				maybe++
			case e.Ev == actor.EvWrote && e.Class == actor.ClassOK && p.Cell.Lock.Kind == lock.KindGuarded:
				pending[e.Actor]++
			case e.Ev == actor.EvWrote && e.Class == actor.ClassOK:
				acked++
			case e.Ev == actor.EvWrote && e.Class != actor.ClassNotHeld:
				maybe++
			case e.Ev == actor.EvReleased:
				switch e.Class {
				case actor.ClassOK:
					acked += pending[e.Actor]
				case actor.ClassNotHeld:
				default:
					maybe += pending[e.Actor]
				}
				pending[e.Actor] = 0
			}
		}
		for _, n := range pending { // killed before it was told
			maybe += n
		}
		if who.ended != 0 { // and what was under way
			maybe++
		}
	}
	return acked, maybe
}

// updates compares the service's value with what was acknowledged.
func (o *Observation) updates(value, acked, maybe int64) {
	switch {
	case value < acked:
		o.LostUpdates = acked - value
	case value > acked+maybe:
		o.LostUpdates = acked + maybe - value
	}
}

// moments finds when the next one got in, and when the holder knew.
func (p *Play) moments(o *Observation, all []*grant) {
	j := o.Injection
	if j.InjectedNS == 0 {
		return
	}
	var holder *grant
	var next *grant
	for _, g := range all {
		if g.who == p.Holder && g.actor == 0 && holder == nil {
			holder = g
			if n := len(g.until); n > 0 {
				o.OwnTTL = time.Duration(g.until[0].until - g.asked)
			}
			continue
		}
		if next == nil && g.at > j.InjectedNS && g.actor == 0 {
			next = g
		}
	}
	if next != nil && holder != nil && p.fault.Shape != ShapeUnlock && len(holder.until) > 0 && (holder.left == 0 || holder.left >= next.at || holder.who.ended != 0) {
		if d := time.Duration(next.at - holder.until[len(holder.until)-1].until); d >= 0 {
			o.Past = &d
		}
	}
	from := j.InjectedNS
	if p.fault.Shape == ShapeWait && holder != nil && holder.left != 0 {
		from = max(from, holder.left)
	}
	if p.probes() {
		if gap, end := p.available(j.InjectedNS); gap > 0 {
			o.Gap = &gap
			if next != nil && holder != nil && holder.left != 0 && next.at > holder.left { // the lock was kept: the service was away so long
				d := time.Duration(max(0, end-j.InjectedNS))
				o.Recovery = &d
				return
			}
		}
	}
	if next != nil && p.fault.Shape != ShapeUnlock {
		d := time.Duration(next.at - from)
		o.Recovery = &d
		if o.Gap == nil && holder != nil && holder.left != 0 {
			g := time.Duration(max(0, next.at-holder.left))
			o.Gap = &g
		}
	}
	if holder != nil && holder.lost != 0 && next != nil && p.fault.Shape == ShapeHold {
		d := time.Duration(max(0, holder.lost-next.at))
		o.Detection = &d
	}
}
