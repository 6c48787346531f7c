package gate

import (
	"fmt"
	"strings"

	"lockbench/results"
)

// enoughBuilds is how many builds a side leave little of code layout: where a
// build's layout moves a figure by 1 % (standard deviation), the threshold is 2
// % and ten cells are tested, an unchanged source fails the gate in 41 % of
// cases with one build a side, 7.5 % with two, 0.7 % with four (simulation).
const enoughBuilds = 4

// layout is the note that alpha does not cover code layout, "" if the sides are
// the same programs or have enough builds. A program is whatever tells it from
// others: its SHA-256, or what there is.
func layout(old, new map[string]bool) string {
	same := len(old) == len(new)
	for p := range old {
		same = same && new[p]
	}
	if same || len(old) >= enoughBuilds && len(new) >= enoughBuilds {
		return ""
	}
	have := fmt.Sprintf("%s of the old side and %d of the new", builds(len(old)), len(new))
	if len(old) == len(new) {
		have = builds(len(old)) + " a side"
	}
	return have + ": alpha does not cover code layout, which differs from build to build: a layout effect looks like a change;" +
		fmt.Sprintf(" give several builds, %d or more, with --old and --new (-ldflags=-randlayout=N)", enoughBuilds)
}

func builds(n int) string {
	if n == 1 {
		return "one build"
	}
	return fmt.Sprintf("%d builds", n)
}

// sessionLayout is the note about a paired session.
func sessionLayout(run *results.Run) string {
	side := map[string]map[string]bool{results.SideOld: {}, results.SideNew: {}}
	for _, p := range run.Programs {
		id := p.SHA256
		if id == "" {
			id = p.File + " " + p.Version
		}
		if side[p.Side] != nil {
			side[p.Side][id] = true
		}
	}
	return layout(side[results.SideOld], side[results.SideNew])
}

// fileLayout is the note about two files. They do not know hashes: builds of one
// version look the same.
func fileLayout(old, new []*results.RunReport) string {
	of := func(runs []*results.RunReport) map[string]bool {
		out := map[string]bool{}
		for _, r := range runs {
			out[strings.TrimSpace(r.Run.Program.Path+" "+r.Run.Program.String()+" "+r.Run.Go.Version)] = true
		}
		return out
	}
	return layout(of(old), of(new))
}
