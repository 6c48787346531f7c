package render

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
)

// An entry explains a word in plain words.
type entry struct{ word, text string }

// glossary explains the columns to a reader who meets them for the first time.
var glossary = []entry{
	{"throughput", "acquisitions a second by all workers together, median of the repetitions"},
	{"95 % interval", "how far the median may be off, in either direction; locks whose intervals overlap are not told apart"},
	{"ns/op, cpu ns/op", "elapsed time, and processor time of all workers, by acquisitions"},
	{"jain, max/min", "fairness: 1 = every worker got the same; jain 1/n = one of n got all; max/min = most by least acquisitions of a worker"},
	{"LWSS", "how many different workers hold the lock within 1000 acquisitions (median)"},
	{"acquire, handoff", "time to get the lock, and from a release to the next holder that was waiting; max is the longest of all repetitions"},
	{"contended", "share of arrivals that found the lock taken"},
}

// meanings of the marks, in the order in which the legend lists them.
var meanings = []entry{
	{"VIOLATION", "two workers were in the critical section at once, or an update was lost: the lock is not correct here, and has no figures"},
	{"HANG", "no worker made progress for the time-out; figures are from the other repetitions"},
	{"ERROR", "the measuring process failed; figures are from the other repetitions"},
	{"skipped", "the lock or the machine cannot do this; not measured"},
	{wordControl, "not a lock: what the measurement itself costs; never subtracted, never ranked"},
	{wordExclusive, "has no read mode: read sections take the lock as writers do"},
	{results.MarkNoisy, fmt.Sprintf("the repetitions vary by more than %.0f %% (standard deviation by mean)", 100*results.NoisyCV)},
	{results.MarkBimodal, "the repetitions fall into two groups; the median may lie in neither"},
	{results.MarkFew, fmt.Sprintf("fewer than %d repetitions: no 95 %% interval exists", results.MinReps)},
	{results.MarkStarved, "a worker got nothing at all"},
	{results.MarkIncomplete, "repetitions that were planned are not in the file"},
	{results.FlagCollapsed, "fewer than 100 acquisitions a worker on average: the lock came to a near stop"},
	{results.FlagGC, "a garbage collection ran inside a measured interval"},
	{results.FlagCoherence, "the cost of moving a cache line between the processors changed meanwhile"},
	{results.FlagSteal, "the hypervisor took processor time away"},
	{results.FlagOversubscribed, "more workers than cores: waiting depends on the scheduler"},
	{results.FlagInterface, "measured by interface calls, some ns slower than generated loops"},
	{results.FlagClock, "the cheap clock disagreed with the monotonic one"},
	{results.FlagFewSamples, "too few latency samples for the high percentiles"},
	{results.FlagNoRecovery, "throughput did not come back after a phase of high load"},
	{results.FlagBacklog, "arrivals came faster than they were served"},
	{results.FlagDrain, "workers took long to leave after the stop"},
	{results.FlagOverlap, "workers ran together for only a part of the interval"},
}

// legend explains the marks that the report uses, and only those. Marks of a
// newer program are listed without a meaning.
func legend(rep *results.Report) []entry {
	used := map[string]bool{}
	for _, r := range rep.Runs {
		for _, c := range r.Cells() {
			switch c.Outcome {
			case results.OutcomeOK:
			case results.OutcomeSkipped:
				used["skipped"] = true
			default:
				used[strings.ToUpper(c.Outcome)] = true
			}
			used[wordControl] = used[wordControl] || c.Control
			used[wordExclusive] = used[wordExclusive] || c.RW == "exclusive"
			for _, m := range c.Marks {
				used[m.Word] = true
			}
		}
	}
	var out []entry
	for _, e := range meanings {
		if used[e.word] {
			out = append(out, e)
			delete(used, e.word)
		}
	}
	var rest []string
	for word, is := range used {
		if is {
			rest = append(rest, word)
		}
	}
	slices.Sort(rest)
	for _, word := range rest {
		out = append(out, entry{word, "a mark that this version does not know"})
	}
	return out
}

// closing says how the figures of a run came to be.
func closing(r *results.RunReport) string {
	run := &r.Run
	parts := []string{count(run.Reps, "repetition") + " a cell, in shuffled order", fmt.Sprintf("seed %d", run.Seed)}
	if run.Clock.Kind != "" {
		parts = append(parts, fmt.Sprintf("clock %s (%s a reading)", run.Clock.Kind, span(run.Clock.CostNS)))
	}
	var dispatch, threads []string
	for _, s := range r.Sections {
		dispatch, threads = append(dispatch, s.Dispatch), append(threads, s.Threads)
	}
	parts = append(parts, "dispatch "+distinct(dispatch), "threads "+distinct(threads))
	if run.Go.Version != "" {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s/%s", run.Go.Version, run.Go.GOOS, run.Go.GOARCH)))
	}
	if run.Program.Version != "" {
		v := "lockbench " + run.Program.Version
		if run.Program.Dirty {
			v += " (with uncommitted changes)"
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, "; ")
}

func distinct(words []string) string {
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	if len(words) == 0 {
		return absent
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " and ")
}
