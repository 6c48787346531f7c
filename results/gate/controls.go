package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/stat"
)

// toolchain are the differences that are allowed, because they may be what is
// compared; all others are of the host.
func toolchain(what string) bool {
	return strings.HasPrefix(what, "build setting ") ||
		slices.Contains([]string{"Go version", "program", "program version", "cell protocol"}, what)
}

// hosts says why two sides are not of one kind of host, "" if they are, and
// what else differs. More than the host's name for itself cannot be known: two
// machines of one model are told apart by the controls at best.
func hosts(old, new *results.RunReport) (why string, notes []string) {
	for _, r := range []*results.RunReport{old, new} {
		if r.Host.OS == "" && r.Host.CPUModel == "" {
			return "no verdict across hosts: a file does not say which host it is from", nil
		}
	}
	var diff []string
	for _, d := range compare.Differences(old, new) {
		text := fmt.Sprintf("%s: %s and %s", d.What, cut(d.Old), cut(d.New))
		if toolchain(d.What) {
			notes = append(notes, "the sides differ, which may be what is compared, in "+text)
		} else {
			diff = append(diff, text)
		}
	}
	if len(diff) > 0 {
		return "no verdict across hosts: " + strings.Join(diff, "; "), notes
	}
	return "", notes
}

// cut shortens facts that are whole lists, such as caches.
func cut(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// What is measured beside a cell to tell a change of the build from one of the
// machine: a lock that does nothing, the standard library's, and what a cache
// line costs.
const (
	controlNull      = "null"
	controlMutex     = "mutex"
	controlCoherence = "coherence_ns"
)

// controlAlpha is the probability that some control of a gate seems to differ
// although none does. It makes a gate inconclusive, never false, so that it
// need not be as small as the gate's own.
const controlAlpha = 0.05

// controls says why the machine may have changed between the two runs, "" if
// nothing shows it. Beside the tested cell, its workload's null and mutex
// cells and its own coherence_ns are held against each other. They agree if
//
//   - their medians differ by no more than the rule's threshold: what the
//     machine did could otherwise be the whole verdict; and
//   - the Mann-Whitney interval does not prove a difference. With this alone few
//     and noisy repetitions would agree always, because they prove nothing; with
//     the medians alone a drift just below the threshold would pass and hide a
//     regression twice as large as allowed.
//
// That they agree does not prove that the machine was the same: how far it may
// have moved without showing is drift. A rule about null or mutex is held against
// the others.
//
// Distributed locks have no such control: null-lease does not go to the servers, which
// may have changed alone.
func (f *filesGate) controls(r *Rule, c *fileCell) string {
	if c.place.dispatch == results.DispatchRemote {
		return "no control: nothing is measured beside a distributed lock that tells a change of its servers from one of the build;" +
			" measure both builds on the same servers with lockbench ab, or set a limit"
	}
	for _, name := range []string{controlNull, controlMutex} {
		if c.Lock == name {
			continue
		}
		k := f.control(c, name)
		if k == nil || len(k.old.ok) == 0 || len(k.new.ok) == 0 {
			return fmt.Sprintf("no control: %s was not measured beside it on both sides, so that a change of the machine would look like one of the build;"+
				" measure with --lock %s added, or with lockbench ab", name, name)
		}
		metric := k.metric(r)
		if why := f.differ(r, name+"'s "+metric.Name, figures(metric, k.old.ok), figures(metric, k.new.ok)); why != "" {
			return why
		}
	}
	m, _ := results.LookupMetric(controlCoherence)
	old, new := figures(m, c.old.ok), figures(m, c.new.ok)
	if len(old) == 0 && len(new) == 0 {
		return "" // one core: no line moves
	}
	if len(old) == 0 || len(new) == 0 {
		return "no control: only one side knows its " + controlCoherence
	}
	return f.differ(r, controlCoherence, old, new)
}

// control is the cell of a control lock beside c: in its section, or, of null,
// in one that differs in dispatch or threads, where it is measured once for
// all.
func (f *filesGate) control(c *fileCell, name string) *fileCell {
	if k := f.at[c.place][name]; k != nil {
		return k
	}
	if name != controlNull {
		return nil
	}
	for _, k := range f.cells {
		if k.Lock == name && k.place.apart() == c.place.apart() {
			return k
		}
	}
	return nil
}

// apart is the place without dispatch and threads.
func (p place) apart() place {
	p.variant = strings.ReplaceAll(p.variant, "/dispatch="+p.dispatch, "")
	p.dispatch, p.threads = "", ""
	return p
}

// metric is the figure by which a control is held against itself: what the
// harness costs is a time an operation, and percentiles of nothing are steps of
// the clock.
func (k *fileCell) metric(r *Rule) results.Metric {
	if k.Lock != controlNull && len(figures(r.Metric, k.old.ok)) > 0 && len(figures(r.Metric, k.new.ok)) > 0 {
		return r.Metric
	}
	m, _ := results.LookupMetric("wall_ns_per_op")
	return m
}

// drift bounds what the machine may have done to the rule's metric between the
// two sides, as a logarithm: from the smallest lower to the largest upper bound
// of the controls' shifts, and 0. This is equivalence, not the absence of proof
// (D.J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987)
// 657-680): few or noisy controls leave a wide drift, and no verdict. A control's
// shift counts with the sign that "worse" has for the rule's metric.
//
// The tested cell is assumed to have moved with the machine by something
// between the controls and nothing. coherence_ns is no part of this, because
// its unit is not the rule's: it is checked alone.
func (f *filesGate) drift(r *Rule, c *fileCell, level float64) stat.Interval {
	out := stat.Interval{OK: true, N: len(c.old.ok) + len(c.new.ok)}
	for _, name := range []string{controlNull, controlMutex} {
		if c.Lock == name {
			continue
		}
		k := f.control(c, name)
		m := k.metric(r)
		i := shift(logs(columns(m, k.old.ok)), logs(columns(m, k.new.ok)), level)
		if m.Better != r.Metric.Better {
			i.Lo, i.Hi = -i.Hi, -i.Lo
		}
		out.Lo, out.Hi = min(out.Lo, i.Lo), max(out.Hi, i.Hi)
	}
	return out
}

// without is the measured interval less the drift.
func without(measured, drift stat.Interval) stat.Interval {
	out := measured
	out.Lo, out.Hi = less(measured.Lo, drift.Hi, -1), less(measured.Hi, drift.Lo, 1)
	return out
}

// less is a - b; of equal infinities nothing is known, so that it is infinite
// towards side.
func less(a, b float64, side int) float64 {
	if math.IsInf(a, 0) && a == b {
		return math.Inf(side)
	}
	return a - b
}

// inWords is "-1.2 % to +3 %", of an interval of logarithms.
func inWords(i stat.Interval) string {
	pct := func(x float64) string {
		switch v := 100 * math.Expm1(x); {
		case math.IsInf(v, 1):
			return "infinity"
		case math.Abs(v) < 0.005:
			return "0 %"
		case math.Abs(v) >= 10:
			return fmt.Sprintf("%+.0f %%", v)
		case math.Abs(v) >= 1:
			return fmt.Sprintf("%+.1f %%", v)
		default:
			return fmt.Sprintf("%+.2g %%", v)
		}
	}
	return pct(i.Lo) + " to " + pct(i.Hi)
}

// differ says how a control differs, "" if it does not.
func (f *filesGate) differ(r *Rule, what string, old, new []float64) string {
	a, b := results.NewEstimate(old).Median, results.NewEstimate(new).Median
	apart := math.Abs(math.Log(b) - math.Log(a))
	if a == b {
		apart = 0
	}
	moved := fmt.Sprintf("%+.3g %%", 100*(b/a-1))
	if a == 0 || math.IsInf(b/a, 0) {
		moved = "beyond all bounds"
	}
	if !(apart <= math.Log1p(r.MaxRegression)) {
		return fmt.Sprintf("the machine changed: the control %s moved by %s, more than the threshold of %s %%", what, moved, short(100*r.MaxRegression))
	}
	i := stat.MannWhitney(logs(old), logs(new), controlAlpha/float64(3*max(1, f.tests)))
	if i.OK && (i.Lo > 0 || i.Hi < 0) {
		return fmt.Sprintf("the machine changed: the control %s moved beyond chance, by %s", what, moved)
	}
	return ""
}
