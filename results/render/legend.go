package render

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/num"
)

// An entry explains a word in plain words.
type entry struct{ word, text string }

// glossary explains the columns to a reader who meets them for the first time.
func glossary(rep *results.Report) []entry {
	if !hasSection(rep, func(s *results.Section) bool { return !s.Distributed() }) {
		return remoteGlossary(rep)
	}
	out := []entry{
		{"throughput", "acquisitions a second by all workers together, median of the repetitions"},
		{"95 % interval", "the bounds of that median, in the same unit unless they have their own; locks whose intervals overlap are not told apart"},
		{"n, MAD, CV", "repetitions that the throughput is of, and their spread: median absolute deviation in % of the median, and standard deviation in % of the mean"},
		{"time/op, cpu/op", "elapsed time, and processor time of all workers (in an open loop they poll for their arrivals), by acquisitions: the inverse of the median rate, so that time/op is 1/throughput; inf = no acquisition in most repetitions"},
		{"jain, max/min", "fairness: 1 = every worker got the same; jain 1/n = one of n got all; max/min = most by least acquisitions of a worker, inf = a worker got nothing in most repetitions"},
		{"LWSS", "how many different workers hold the lock within 1000 acquisitions (median)"},
		{"acquire, handoff", "time to get the lock, and from a release to the next holder that was waiting; max is the longest of all repetitions" + clockShare(rep)},
		{"contended", "share of arrivals that found the lock taken"},
	}
	out = append(out, extraEntries(rep, remoteOnly[1:])...) // time/op is among those above
	return append(append(out, extraEntries(rep, extraWords)...), absentEntry)
}

var absentEntry = entry{num.Absent, "not measured, or in no more than half of the repetitions"}

// remoteGlossary is of a report that has distributed locks alone.
func remoteGlossary(rep *results.Report) []entry {
	out := []entry{
		{"throughput", "acquisitions a second by all workers of all clients together, median of the repetitions"},
		{"95 % interval", "the bounds of that median, in the same unit unless they have their own; locks whose intervals overlap are not told apart"},
		{"n, CV", "repetitions that the throughput is of, and their spread: standard deviation in % of the mean"},
		{"acquire, handoff", "time to get the lock, and from the beginning of a release to the next holder that was waiting; max is the longest of all repetitions" + clockShare(rep)},
		{"jain", "fairness: 1 = every worker got the same, 1/n = one of n got all"},
		{"cpu/op", "processor time of all client processes by acquisitions"},
	}
	out = append(out, extraEntries(rep, remoteOnly)...)
	return append(append(out, extraEntries(rep, extraWords)...), absentEntry)
}

// An extraWord explains a column that not every report has.
type extraWord struct {
	head    string
	entries []entry
}

// extraEntries are those of the columns that the report has.
func extraEntries(rep *results.Report, all []extraWord) []entry {
	var out []entry
	for _, x := range all {
		if hasColumn(rep, x.head) {
			out = append(out, x.entries...)
		}
	}
	return out
}

var (
	remoteOnly = []extraWord{
		{"time\n/op", []entry{{"time/op", "elapsed time by acquisitions, the inverse of the median rate, so that time/op is 1/throughput; inf = no acquisition in most repetitions"}}},
		{"release\np50", []entry{{"release", "distributed: from the call of release to its return"}}},
		{"\ntrips", []entry{{"trips", "distributed: round trips that an acquisition waited for (mean) / on the critical path of a handoff, the release's and those that the next holder began after it (median); counted, not assumed"}}},
		{"com-\nmands", []entry{{"commands", "distributed: all requests to servers by acquisitions: acquiring, releasing, renewing, waiting, and operations that got no lock"}}},
		{headTimeouts, []entry{{"timeouts", "distributed: share of operations that got no lock in time; they are no acquisitions, and the times to acquire have none of their waits"}}},
		{"dead-\nlocks", []entry{{"deadlocks", "distributed: transfers that waited for each other, in a repetition (median); notes say by which way out they ended"}}},
		{"lost\nleases", []entry{{"lost leases", "distributed: leases that ended before they were released, in a repetition (median)"}}},
		{"server\ncpu/op", []entry{{"server cpu/op", "distributed: processor time of the servers' containers by acquisitions"}}},
	}
	extraWords = []extraWord{
		{"try\nfailed", []entry{{"try failed", "share of all operations that were tries and did not get the lock"}}},
		{"timed\nout", []entry{{"timed out", "share of all operations that gave up waiting"}}},
		{"back-\nlog", []entry{{"backlog", "open loop: share of all planned arrivals, from the warm-up on, that were not served at the stop; throughput is what arrived, unless the lock cannot keep up: it ranks nothing here"}}},
		{"late\np99", []entry{{"late", "open loop: how late the harness itself was after waiting for a planned arrival; latencies contain it"}}},
	}
)

func hasSection(rep *results.Report, is func(*results.Section) bool) bool {
	for _, r := range rep.Runs {
		if slices.ContainsFunc(r.Sections, is) {
			return true
		}
	}
	return false
}

func hasColumn(rep *results.Report, head string) bool {
	return hasSection(rep, func(s *results.Section) bool {
		return slices.ContainsFunc(columns(s), func(c column) bool { return c.head == head })
	})
}

// clockShare says how much of a latency is the clock's.
func clockShare(rep *results.Report) string {
	var costs []string
	for _, r := range rep.Runs {
		if c := r.Run.Clock.CostNS; c > 0 && !slices.Contains(costs, num.Span(c)) {
			costs = append(costs, num.Span(c))
		}
	}
	if len(costs) == 0 {
		return "; the clock's own cost is in each"
	}
	return "; about " + strings.Join(costs, " or ") + " of each is reading the clock, not subtracted"
}

// meanings of the marks, in the order in which the legend lists them.
var meanings = []entry{
	{"VIOLATION", "two workers were in the critical section at once, or an update was lost: the lock is not correct here, and has no figures"},
	{"HANG", "no worker made progress for the time-out; figures are from the other repetitions"},
	{"ERROR", "the measuring process failed; figures are from the other repetitions"},
	{"skipped", "the lock or the machine cannot do this; not measured"},
	{wordControl, "not a lock: what the measurement itself costs; never subtracted, never ranked"},
	{wordExclusive, "has no read mode: read sections take the lock as writers do"},
	{wordWritten, "distributed: a guarded or optimistic lock, judged by what was written: the final value against the writes that the service acknowledged, not by who believes to hold it"},
	{results.MarkNoisy, fmt.Sprintf("the repetitions vary by more than %.0f %% (standard deviation by mean)", 100*results.NoisyCV)},
	{results.MarkBimodal, "the repetitions fall into two groups by throughput; the median may lie in neither; a note says by which coherence mode of the machine (cost of moving a cache line)"},
	{results.MarkOutliers, "repetitions far from the others by throughput or p99 of acquire (modified z-score on logarithms); they are part of all figures"},
	{results.MarkFew, fmt.Sprintf("fewer than %d repetitions: no 95 %% interval exists", results.MinReps)},
	{results.MarkStarved, "a worker got nothing at all"},
	{results.MarkIncomplete, "repetitions that were planned are not in the file"},
	{results.MarkProbeDiffers, "the probe interval ran at another speed than the throughput interval; latencies may not describe it"},
	{results.FlagFewOps, "fewer than 100 acquisitions a worker on average, because sections are long"},
	{results.FlagCollapsed, "fewer than 100 acquisitions a worker on average: the lock came to a near stop"},
	{results.FlagGC, "a garbage collection ran inside a measured interval"},
	{results.FlagCoherence, "the cost of moving a cache line between the processors changed meanwhile"},
	{results.FlagSteal, "the hypervisor took processor time away"},
	{results.FlagBusy, "other programs used the processors meanwhile"},
	{results.FlagOversubscribed, "more workers than cores: waiting depends on the scheduler"},
	{results.FlagInterface, "measured by interface calls, some ns slower than generated loops"},
	{results.FlagClock, "the cheap clock disagreed with the monotonic one"},
	{results.FlagUnsampled, "with more workers than cores some did not run or waited through the probe: not in the latencies"},
	{results.FlagFewSamples, "too few latency samples for the high percentiles"},
	{results.FlagNoRecovery, "throughput did not come back after a phase of high load"},
	{results.FlagLate, "open loop: the harness itself was late for planned arrivals"},
	{results.FlagBacklog, "arrivals came faster than they were served"},
	{results.FlagDrain, "workers took long to leave after the stop"},
	{results.FlagOverlap, "workers ran together for only a part of the interval"},
	{results.FlagTimeouts, "distributed: operations got no lock in time; they count as no acquisitions"},
	{results.FlagFallback, "distributed: sections ran without the lock after a time-out; they count as no acquisitions"},
	{results.FlagLost, "distributed: leases ended before they were released"},
	{results.FlagStale, "distributed: a holder whose lease was over was still inside when the next one came: the client or the machine was late, and the lock is not at fault"},
	{results.FlagUnknown, "distributed: nobody knows the outcome of some requests, such as when a reply was lost"},
	{results.FlagErrors, "distributed: operations failed otherwise: a connection was lost, a server answered with an error"},
	{results.FlagOrphans, "distributed: a grant came after the caller had left, and was released"},
	{results.FlagDeadlock, "distributed: workers held one key and waited for another's; a note says by which way out it ended"},
	{results.FlagIdle, "an active worker did nothing in a load phase: the phase is too short for so many, or the lock starves them"},
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
			used[wordWritten] = used[wordWritten] || written(c) && c.Outcome != results.OutcomeViolation
			if c.Outcome == results.OutcomeViolation || c.Outcome == results.OutcomeSkipped && c.OKReps == 0 {
				continue // their marks are not shown
			}
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
		parts = append(parts, fmt.Sprintf("clock %s (%s a reading)", run.Clock.Kind, num.Span(run.Clock.CostNS)))
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
		parts = append(parts, "lockbench "+run.Program.String())
	}
	return strings.Join(parts, "; ")
}

func distinct(words []string) string {
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	if len(words) == 0 {
		return num.Absent
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " and ")
}
