package main

import (
	"fmt"
	"math"
	"strings"

	"lockbench/results/gate"
	"lockbench/results/num"
)

// lockTable is what equal programs say of each lock.
func (st *study) lockTable() string {
	same, layouts := st.byName(partSame), st.byName(partLayouts)
	if same == nil && layouts == nil {
		return ""
	}
	first := same
	if first == nil {
		first = layouts
	}
	var rows [][]string
	for i, c := range first.rec.cells {
		row := []string{unprefixed(c.Lock), num.Whole(c.perOp()), st.hidden(c.Lock)}
		if same != nil {
			s := same.spreads[i]
			row = append(row, num.Whole(100*s.sigma), num.Whole(100*same.others[i].sigma), fmt.Sprintf("%+.2f", s.lag), changes(s.centre), fmt.Sprint(same.rec.cells[i].dropped()))
		} else {
			row = append(row, num.Absent, num.Absent, num.Absent, num.Absent, num.Absent)
		}
		if layouts != nil {
			row = append(row, changes(layouts.spreads[i].centre), num.Whole(100*layouts.effects[i]))
		} else {
			row = append(row, num.Absent, num.Absent)
		}
		rows = append(rows, row)
	}
	text := "The time an operation. How many units of extra work cost nothing, because the processor does them beside the section. Of the same program: the spread, which is what the log ratio of one pair is worth, as a standard deviation, and that of " + otherMetric + "; the rank correlation of neighbouring pairs; the change that all pairs together show, with a 95 % interval; dropped pairs. Of builds with different layout: the change, and how far two builds differ, as a standard deviation without what chance adds."
	if same != nil {
		text += fmt.Sprintf(" Without correlation 95 %% of the values of lag 1 are within ±%.2f.", normalQuantile(1-(1-confidence)/2)/math.Sqrt(float64(same.pairs)))
	}
	return text + "\n\n" + table([]string{"lock", "ns", "hidden units", "spread, %", "of cpu, %", "lag 1", "change, %", "dropped", "layouts: change, %", "builds differ by, %"}, rows)
}

// hidden is how many units of extra work cost a lock nothing.
func (st *study) hidden(lock string) string {
	for _, r := range st.ops {
		if r.lock == lock {
			return fmt.Sprintf("%.0f", r.hidden())
		}
	}
	return num.Absent
}

// slowTable is each planted slowdown: nominal, true, and how often it is found.
func (st *study) slowTable() string {
	var slow []part
	header := []string{"lock"}
	for _, p := range st.parts {
		if p.slowdown > 0 {
			slow = append(slow, p)
			header = append(header, p.title+": units", "true size, %", "found (pairs)")
		}
	}
	if len(slow) == 0 {
		return ""
	}
	var rows [][]string
	for i, op := range st.ops {
		row := []string{unprefixed(op.lock)}
		for _, p := range slow {
			units, err := op.units(p.slowdown)
			if err != nil {
				continue // the program could not have been built
			}
			c := p.cells[metric].cell(op.lock)
			found := c.of(gate.Fail)
			row = append(row, fmt.Sprint(units), changes(p.spreads[i].centre), fmt.Sprintf("%d of %d (%.0f)", found.k, found.n, quantile(c.pairs, 0.5)))
		}
		rows = append(rows, row)
	}
	return "Units of extra work; the true size, by all recorded pairs, with a 95 % interval; how many tests one after the other find it (pairs to a verdict, median).\n\n" + table(header, rows)
}

// contendedTable is what a gate could do with contended cells.
func (st *study) contendedTable() string {
	p := st.byName(partContended)
	if p == nil {
		return ""
	}
	t := p.drawn[metric]
	var rows [][]string
	for i, c := range p.rec.cells {
		s := p.spreads[i]
		a, f := st.needs(s.sigma, -math.Log1p(threshold), 0.8), st.needs(s.sigma, gap(0.05), 0.8)
		rows = append(rows, []string{unprefixed(c.Lock), num.Whole(100 * s.sigma), num.Whole(100 * p.others[i].sigma), fmt.Sprintf("%+.2f", s.lag), changes(s.centre), fmt.Sprint(c.dropped()), count(a), count(f)})
	}
	return fmt.Sprintf("%d workers. Gates with the order within pairs drawn anew: false alarms %s; inconclusive %s. Pairs are those with which four of five gates would pass an equal program, and find a slowdown of 5 %%.\n\n",
		p.workers, t.alarms().text(), t.of(gate.Inconclusive).text()) +
		table([]string{"lock", "spread, %", "of cpu, %", "lag 1", "change, %", "dropped", "pairs to pass", "pairs to find 5 %"}, rows)
}

// gap is how far a slowdown is from the threshold, in log ratios.
func gap(slowdown float64) float64 { return math.Log1p(slowdown) - math.Log1p(threshold) }

// needs is how many pairs a test needs to decide with the given power, at the
// level of the plan's last look.
func (st *study) needs(sigma, gap, power float64) float64 {
	looks := gate.NewPlan(gate.DefaultAlpha, len(st.o.locks), st.o.budget).Looks
	return pairsNeeded(sigma, math.Abs(gap), looks[len(looks)-1].Alpha, power)
}

// remedies says for each figure that is short what would meet it.
func (st *study) remedies() string {
	var b strings.Builder
	for _, f := range st.figures() {
		if f.OK() {
			continue
		}
		fmt.Fprintf(&b, "- %s: %s. %s\n", f.Name, f.Detail(), st.remedy(f.Name))
	}
	if b.Len() == 0 {
		return "Nothing is short."
	}
	return b.String()
}

func (st *study) remedy(name string) string {
	for _, p := range st.parts {
		switch {
		case p.slowdown > 0 && name == foundFigure(p):
			return st.remedyFound(p)
		case p.slowdown > 0:
		case name == alarmFigure(p, false) && p.drawn[metric] != nil:
			return remedyAlarms(p.drawn[metric].alarms()) + " Each is drawn from the recording (-gates)."
		case name == alarmFigure(p, false) && p.apart[metric] != nil:
			t := p.apart[metric]
			n := trialsNeeded(t.alarms())
			text := remedyAlarms(t.alarms())
			if n > 0 {
				pairs := float64(n) * float64(p.pairs) / float64(t.gates)
				text += fmt.Sprintf(" As long as these, they take %.0f pairs (-pairs), some %.1f hours, and other builds for each: these share %d builds a side.",
					pairs, pairs*p.rec.seconds()/3600, len(p.new))
			}
			return text
		case name == alarmFigure(p, true) && p.one[metric] != nil:
			t := p.one[metric]
			text := remedyAlarms(t.alarms()) + fmt.Sprintf(" Independent are pairs of builds that no other gate uses: here there are %d.", min(len(p.old), len(p.new)))
			if t.alarms().k > 0 {
				text += remedyLayout(p)
			}
			return text
		}
	}
	if (name == liveAlarmsFigure || name == livePassesFigure) && len(st.live) > 0 && st.failed[partLive] == nil {
		return "See the table of live gates: which they were, and what their locks came to."
	}
	return "It could not be measured."
}

// remedyFound says which locks are short, and with how many pairs they would
// not be.
func (st *study) remedyFound(p part) string {
	var short []string
	var pairs []float64
	for i, op := range st.ops {
		if p.cells[metric].cell(op.lock).of(gate.Fail).value() >= p.target {
			continue
		}
		// The size is what was planted, unless the recording knows better: an
		// interval that has the threshold inside does not.
		size := math.Log1p(p.slowdown)
		if s := p.spreads[i].centre; s.Lo > math.Log1p(threshold) || s.Hi < math.Log1p(threshold) {
			size = s.Center
		}
		n := st.needs(p.spreads[i].sigma, max(0, size-math.Log1p(threshold)), p.target)
		pairs = append(pairs, n)
		short = append(short, fmt.Sprintf("%s %s", unprefixed(op.lock), count(n)))
	}
	if len(short) == 0 {
		return fmt.Sprintf("Every lock reaches it; the bound needs more tests: %d in a row that all find it, or more with misses among them; here are %d of %d pairs (-slow-pairs).",
			inARow(1-p.target), p.cells[metric].cellsOf(gate.Fail).n, p.pairs)
	}
	most, never := need(pairs)
	text := fmt.Sprintf("By the spread in that recording it takes, in pairs: %s.", strings.Join(short, ", "))
	switch {
	case most > float64(st.o.budget):
		text += fmt.Sprintf(" A budget of %s pairs would do, some %s minutes a gate at most.", count(most), minutes(most*p.rec.seconds()))
	case most > 0:
		text += " The budget has as many: the misses are chance, or repetitions that the spread does not show. More tests would tell (-slow-pairs)."
	}
	if never {
		text += " Where no number is given, the true size is below the threshold: no test can find it."
	}
	return text + fmt.Sprintf(" By %s, tests of the same pairs find %s.", otherMetric, p.cells[otherMetric].cellsOf(gate.Fail).text())
}

// remedyAlarms tells too few gates from too many alarms.
func remedyAlarms(s share) string {
	if s.value() > alarmTarget {
		return "More gates fail than may."
	}
	if n := trialsNeeded(s); n > 0 {
		return fmt.Sprintf("The share meets the target, its bound does not: if it stays, %d independent gates would prove it.", n)
	}
	return "The share is too near to the target to be proved."
}

// trialsNeeded is with how many trials the bound would meet the target, as few
// of them being alarms as there are; 0 = none that could be run.
func trialsNeeded(s share) int {
	if s.k == 0 {
		return max(s.n, inARow(alarmTarget))
	}
	for n := max(1, s.n); n < 1_000_000; n += max(1, n/50) {
		k := int(math.Round(s.value() * float64(n)))
		if _, hi := (share{k, n}).bounds(); hi <= alarmTarget {
			return n
		}
	}
	return 0
}

// remedyLayout says how large the effect of the layout is.
func remedyLayout(p part) string {
	i := 0
	for k := range p.effects {
		if p.effects[k] > p.effects[i] {
			i = k
		}
	}
	return fmt.Sprintf(" Two builds differ by %s %% on %s (standard deviation), of nothing but their layout: that does not average out over pairs, but over several builds a side.", pct(p.effects[i]), unprefixed(p.rec.cells[i].Lock))
}

// need is the largest finite number of pairs, and whether some lock has none.
func need(values []float64) (most float64, never bool) {
	for _, v := range values {
		if math.IsInf(v, 1) {
			never = true
		} else {
			most = max(most, v)
		}
	}
	return most, never
}
