package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/results"
)

// remoteOf is the settings of each distributed cell, of its first repetition that has
// them.
func remoteOf(samples []*results.Sample) map[cellKey]results.RemoteSettings {
	out := map[cellKey]results.RemoteSettings{}
	for _, s := range samples {
		if s.Remote == nil {
			continue
		}
		if k := keyOf(s); out[k] == (results.RemoteSettings{}) {
			out[k] = s.Remote.Settings()
		}
	}
	return out
}

// remoteDiffer says in what two cells of one name differ so that their figures are not
// of the same, "" = in nothing. The name has the options that are not at their defaults;
// but defaults change, "topology=given" hides what is behind a URL, and a server that is reached
// over published ports answers half as often as one on the host's own network.
func remoteDiffer(a, b results.RemoteSettings) string {
	span := func(ns int64) string { return time.Duration(ns).String() }
	wait := func(r results.RemoteSettings) string {
		return fmt.Sprintf("%s to %s, jitter %g", span(r.WaitMinNS), span(r.WaitMaxNS), r.WaitJitter)
	}
	for _, x := range []struct{ what, a, b string }{
		{"the service", a.Service, b.Service},
		{"the topology", a.Topology, b.Topology},
		{"the network", a.Network, b.Network},
		{"the persistence", a.Persistence, b.Persistence},
		{"the TTL", span(a.TTLNS), span(b.TTLNS)},
		{"renewal", fmt.Sprint(a.Renew), fmt.Sprint(b.Renew)},
		{"fencing", fmt.Sprint(a.Fence), fmt.Sprint(b.Fence)},
		{"the back-off", wait(a), wait(b)},
		{"the acquire time-out", span(a.AcquireTimeoutNS), span(b.AcquireTimeoutNS)},
		{"what follows a time-out", a.OnTimeout, b.OnTimeout},
		{"reentrancy", fmt.Sprint(a.Depth), fmt.Sprint(b.Depth)},
		{"the keys", a.Keys, b.Keys},
		{"the order of two keys", a.Order, b.Order},
	} {
		if x.a != x.b {
			return fmt.Sprintf("%s: %s and %s", x.what, known(x.a), known(x.b))
		}
	}
	return ""
}

// serverDifferences are what may differ between sides and is then said: of each topology that
// both ran on, the version and image of its servers, and of each lock the library
// that it comes from.
func serverDifferences(old, new []*results.Sample) []Difference {
	x, y := serverFacts(old), serverFacts(new)
	var out []Difference
	for _, f := range x.order {
		if a, b := x.values(f), y.values(f); len(y.at[f]) > 0 && a != b {
			out = append(out, Difference{f, known(a), known(b)})
		}
	}
	return out
}

// factSet is facts by what they are called, in order.
type factSet struct {
	order []string
	at    map[string][]string
}

func (f *factSet) values(what string) string { return strings.Join(f.at[what], " and ") }

func (f *factSet) add(what, value string) {
	if f.at[what] == nil {
		f.order = append(f.order, what)
	}
	if !slices.Contains(f.at[what], value) {
		f.at[what] = append(f.at[what], value)
	}
}

func serverFacts(samples []*results.Sample) *factSet {
	f := &factSet{at: map[string][]string{}}
	for _, s := range samples {
		r := s.Remote
		if r == nil || s.Control {
			continue
		}
		on := r.Topology
		if on != r.Service {
			on += " (" + r.Service + ")"
		}
		f.add("server version of "+on, r.ServerVersion)
		f.add("image of "+on, r.Image)
		if r.Peer != "" {
			f.add("library of "+s.Lock, r.Peer)
		}
	}
	for _, v := range f.at {
		slices.Sort(v)
	}
	slices.Sort(f.order)
	return f
}

func samplesOf(runs []*results.RunReport) []*results.Sample {
	var out []*results.Sample
	for _, r := range runs {
		out = append(out, r.Samples...)
	}
	return out
}

// noLock is the share of a cell's operations that got no lock in time, in percent;
// false without a distributed operation.
func noLock(samples []*results.Sample) (float64, bool) {
	missed, all := 0.0, 0.0
	for _, s := range samples {
		if r := s.Remote; r != nil {
			n := float64(r.Timeouts) + float64(r.GaveUp)
			missed, all = missed+n, all+n+float64(s.Ops)
		}
	}
	if all == 0 {
		return 0, false
	}
	return 100 * missed / all, true
}

// missedNote says that operations got no lock in time, whose waits are in no latency:
// what is left may look fast. "" where none did.
func missedNote(old, new []*results.Sample) string {
	a, x := noLock(old)
	b, y := noLock(new)
	if !x && !y || a == 0 && b == 0 {
		return ""
	}
	return fmt.Sprintf("no lock in time: %.3g and %.3g %%", a, b)
}
