package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/chaos/actor"
	"lockbench/chaos/linear"
	"lockbench/chaos/timeline"
	"lockbench/lock"
	"lockbench/results"
)

// linearize asks Porcupine about the round, of locks that claim to be linearizable: about the lock, and about the
// store that checks its tokens.
func (p *Play) linearize(o *Observation, all []*grant) {
	if p.Cell.Lock.Kind != lock.KindLease || !p.Cell.Lock.Remote.Linearizable {
		return
	}
	of, at := linear.Lock(p.history(all), linear.Limit), "lock"
	if of.Verdict == linear.Yes && p.Cell.fenced() && !p.Cell.silent() {
		if r := linear.Register(linear.Stored(p.run.witness.Log(p.key())), linear.Limit); r.Verdict != linear.Yes {
			of, at = r, "fenced store"
		}
	}
	o.Linear, o.picture = of.Verdict, of
	if of.Verdict == linear.No {
		o.LinearWhy = at + ": " + of.Why
	}
}

// history is the round as operations on the lock.
func (p *Play) history(all []*grant) []linear.Op {
	var out []linear.Op
	for i, g := range all {
		out = append(out, linear.Op{Kind: linear.Acquire, Worker: g.worker, Lease: i, CallNS: g.asked, ReturnNS: g.at, Token: g.token, HasToken: g.hasToken, OK: true})
		for _, r := range g.releases {
			out = append(out, linear.Op{Kind: linear.Release, Worker: g.worker, Lease: i, CallNS: r.from, ReturnNS: r.to,
				OK: r.class == actor.ClassOK, Unknown: r.class != actor.ClassOK})
		}
		switch n := len(g.until); {
		case n > 0:
			out = append(out, linear.Op{Kind: linear.Expire, Worker: g.worker, Lease: i, CallNS: g.until[n-1].until, ReturnNS: -1})
		case p.hit(g) && p.obs.Injection.InjectedNS != 0:
			// A session without a deadline may end from the moment on at which the fault hit it.
			out = append(out, linear.Op{Kind: linear.SessionEnd, Worker: g.worker, Lease: i, CallNS: p.obs.Injection.InjectedNS, ReturnNS: -1})
		}
	}
	lease := len(all)
	for _, who := range p.parties() {
		open := map[int]actor.Event{}
		for _, e := range who.events() {
			switch e.Ev {
			case actor.EvRequested:
				open[e.Actor] = e
			case actor.EvGranted:
				delete(open, e.Actor)
			case actor.EvRefused:
				if e.Class == actor.ClassNotAcquired {
					delete(open, e.Actor)
				}
			}
		}
		for a, e := range open { // nobody knows whether these were granted
			out = append(out, linear.Op{Kind: linear.Acquire, Worker: who.Worker(a), Lease: lease, CallNS: e.AtNS, ReturnNS: -1, Unknown: true})
			lease++
		}
	}
	return out
}

// hit reports whether the fault is about the session of a grant's holder.
func (p *Play) hit(g *grant) bool {
	switch p.fault.On {
	case OnHolder:
		return g.who == p.Holder
	case OnNext:
		return g.who == p.Next
	case OnServers:
		return true
	}
	return false
}

// show sets the record's counterexample.
func (r *run) show(v *results.ChaosVerdict, c *Cell, o *Observation) {
	v.Counterexample = r.text(c, o)
	v.Counterfile = r.write(c, o)
}

// text is the timeline of a round.
func (r *run) text(c *Cell, o *Observation) string {
	var text strings.Builder
	title := fmt.Sprintf("%s, round %d, seed %d", c.Name(), o.Round, r.o.Seed)
	if o.Why != "" {
		title += ", does not count: " + o.Why
	}
	if err := timeline.Write(&text, title, o.Lines); err != nil {
		return "" // a strings.Builder takes everything
	}
	return text.String()
}

// write writes the files of a round that is worth a look, and returns the name of the text.
func (r *run) write(c *Cell, o *Observation) string {
	if r.o.CounterDir == "" {
		return ""
	}
	base := filepath.Join(r.o.CounterDir, strings.ReplaceAll(c.Name(), "/", "_"))
	if err := os.WriteFile(base+".txt", []byte(r.text(c, o)), 0o644); err != nil {
		r.tell(fmt.Sprintf("write a timeline: %v", err))
		return ""
	}
	if o.Linear == linear.No {
		f, err := os.Create(base + ".html")
		if err == nil {
			err = errors.Join(o.picture.HTML(f), f.Close())
		}
		if err != nil {
			r.tell(fmt.Sprintf("write Porcupine's picture: %v", err))
		}
	}
	return base + ".txt"
}
