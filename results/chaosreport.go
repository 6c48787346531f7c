package results

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A ChaosReport is the chaos of one run, as reports show it: all text in it is printable.
type ChaosReport struct {
	Run *Run
	// Controls are the harness's own checks. Unless all agree, no verdict means anything.
	Controls []*ChaosVerdict
	// Verdicts are the cells of locks: by servers, lock, fault and policy.
	Verdicts []*ChaosVerdict
	// Faults are the injections, intervals of the shared clock.
	Faults []*Event
	order  chaosOrder
}

// NewChaosReport takes the verdicts of a run, controls and locks together, and its events, of which
// it keeps the faults. It changes none of them.
func NewChaosReport(run *Run, verdicts []*ChaosVerdict, events []*Event) *ChaosReport {
	header := printableRun(*run)
	r := &ChaosReport{Run: &header, order: orderOf(run.Spec)}
	for _, v := range verdicts {
		p := printableVerdict(*v)
		if p.Control {
			r.Controls = append(r.Controls, &p)
		} else {
			r.Verdicts = append(r.Verdicts, &p)
		}
	}
	for _, all := range [][]*ChaosVerdict{r.Controls, r.Verdicts} {
		slices.SortStableFunc(all, func(a, b *ChaosVerdict) int { return cmp.Or(r.order.columns(a, b), r.order.rows(a, b)) })
	}
	for _, e := range events {
		if e.Kind == EventFault {
			r.Faults = append(r.Faults, e)
		}
	}
	return r
}

// Report is the run with its chaos and nothing else, for what writes reports.
func (r *ChaosReport) Report() *Report {
	return &Report{Runs: []*RunReport{{Run: *r.Run, Host: hostFacts(r.Run.Host), Chaos: r}}}
}

// All are the controls, and then the cells of locks.
func (r *ChaosReport) All() []*ChaosVerdict { return slices.Concat(r.Controls, r.Verdicts) }

// FailedControls are the controls that did not come out as they must.
func (r *ChaosReport) FailedControls() []*ChaosVerdict {
	return filter(r.Controls, func(v *ChaosVerdict) bool { return !v.Agrees })
}

// Differing are the cells whose verdict is not the expected one, the worse ones first.
func (r *ChaosReport) Differing() []*ChaosVerdict {
	out := filter(r.Verdicts, (*ChaosVerdict).Differs)
	slices.SortStableFunc(out, func(a, b *ChaosVerdict) int { return b.WorseBy() - a.WorseBy() })
	return out
}

// Late are the cells whose longest recovery was beyond the lock's own bound.
func (r *ChaosReport) Late() []*ChaosVerdict { return filter(r.Verdicts, (*ChaosVerdict).Late) }

// With are the cells of locks with that verdict.
func (r *ChaosReport) With(verdict string) []*ChaosVerdict {
	return filter(r.Verdicts, func(v *ChaosVerdict) bool { return v.Verdict == verdict })
}

func filter(all []*ChaosVerdict, keep func(*ChaosVerdict) bool) []*ChaosVerdict {
	var out []*ChaosVerdict
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// Differs reports whether the cell came to a verdict, and theory expects another one.
func (v *ChaosVerdict) Differs() bool {
	return v.Judged() && v.Expected != "" && v.Verdict != v.Expected
}

// WorseBy is by how many steps the verdict is worse than the expected one: safe is better than
// safe-with-fence, and that than unsafe. Below 0 it is better. Where nothing is expected, unsafe is
// worse, because nobody said that it may be; what came to no verdict is as expected.
func (v *ChaosVerdict) WorseBy() int {
	switch {
	case !v.Judged():
		return 0
	case v.Expected != "":
		return slices.Index(judged, v.Verdict) - slices.Index(judged, v.Expected)
	case v.Verdict == VerdictUnsafe:
		return 1
	}
	return 0
}

// What a recovery may take beyond its bound before it is called late. Bounds are about locks; the processes that
// wait for one share this machine's processors with others, and are let run some milliseconds after they could.
const (
	lateShare = 0.1
	lateMS    = 100.0
)

// Late reports whether the longest recovery was beyond the bound, by more than a tenth and 100 ms.
func (v *ChaosVerdict) Late() bool {
	return v.Recovery != nil && v.BoundMS != nil && v.Recovery.Max > *v.BoundMS*(1+lateShare)+lateMS
}

// Cell is the verdict's name, in the form of a Go benchmark name without the leading "Benchmark".
func (v *ChaosVerdict) Cell() string {
	parts := []string{"Chaos"}
	for _, p := range []struct{ key, value string }{{"lock", v.Lock}, {"topology", v.Topology}, {"network", v.Network}, {"fault", v.Fault}, {"policy", v.Policy}} {
		if p.value != "" {
			parts = append(parts, p.key+"="+p.value)
		}
	}
	return strings.Join(parts, "/")
}

// printableVerdict is a copy with text that a terminal shows.
func printableVerdict(v ChaosVerdict) ChaosVerdict {
	for _, p := range []*string{&v.Lock, &v.Kind, &v.Peer, &v.Topology, &v.Network, &v.Version, &v.Fault, &v.On, &v.Policy, &v.Verdict,
		&v.Expected, &v.Reason, &v.Theory, &v.Note, &v.BoundText, &v.Linearizable, &v.Counterfile} {
		*p = Printable(*p)
	}
	var lines []string
	for line := range strings.SplitSeq(v.Counterexample, "\n") {
		lines = append(lines, Printable(line))
	}
	v.Counterexample = strings.Join(lines, "\n")
	params := make(map[string]float64, len(v.Params))
	for name, p := range v.Params {
		params[Printable(name)] = p
	}
	v.Type, v.Params = TypeVerdict, params
	return v
}

func sortedNames(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
