package results

import (
	"fmt"
	"slices"
)

// Metrics are the estimates of one cell over its ok repetitions, named and in
// units as in Sample. nil = no more than half of the repetitions had the figure.
// WallNS and CPUNS are the inverse of rates (see perOp).
type Metrics struct {
	Throughput *Estimate `json:"throughput_ops_s,omitempty"`
	WallNS     *Estimate `json:"wall_ns_per_op,omitempty"`
	CPUNS      *Estimate `json:"cpu_ns_per_op,omitempty"`

	AcquireP50  *Estimate `json:"acquire_p50_ns,omitempty"`
	AcquireP90  *Estimate `json:"acquire_p90_ns,omitempty"`
	AcquireP99  *Estimate `json:"acquire_p99_ns,omitempty"`
	AcquireP999 *Estimate `json:"acquire_p999_ns,omitempty"`
	HandoffP50  *Estimate `json:"handoff_p50_ns,omitempty"`
	HandoffP99  *Estimate `json:"handoff_p99_ns,omitempty"`
	LatenessP99 *Estimate `json:"lateness_p99_ns,omitempty"` // open loop: of the harness itself
	// The longest time of all repetitions, and what each repetition's longest
	// was.
	AcquireMax    *float64  `json:"acquire_max_ns,omitempty"`
	AcquireRepMax *Estimate `json:"acquire_rep_max_ns,omitempty"`
	HandoffMax    *float64  `json:"handoff_max_ns,omitempty"`
	HandoffRepMax *Estimate `json:"handoff_rep_max_ns,omitempty"`

	Jain   *Estimate `json:"jain,omitempty"`
	MaxMin *Estimate `json:"max_min,omitempty"` // infinite where a worker got nothing
	RSD    *Estimate `json:"rsd,omitempty"`
	LWSS   *Estimate `json:"lwss_median,omitempty"`
	MTTR   *Estimate `json:"mttr_median,omitempty"`

	Contended   *Estimate `json:"contended_pct,omitempty"`
	Coherence   *Estimate `json:"coherence_ns,omitempty"`
	Section     *Estimate `json:"section_measured_ns,omitempty"`
	Think       *Estimate `json:"think_measured_ns,omitempty"`
	SectionMean *Estimate `json:"section_mean_ns,omitempty"`
	ThinkMean   *Estimate `json:"think_mean_ns,omitempty"`
	Overlap     *Estimate `json:"overlap_pct,omitempty"`
	Steal       *Estimate `json:"steal_pct,omitempty"`
	CtxVol      *Estimate `json:"ctx_voluntary,omitempty"`
	CtxInvol    *Estimate `json:"ctx_involuntary,omitempty"`

	// Shares of all operations, those that did not get the lock included.
	TryFailed *Estimate `json:"try_failed_pct,omitempty"`
	TimedOut  *Estimate `json:"timed_out_pct,omitempty"`
	// Backlog is the share of an open loop's planned arrivals that had not been
	// served at the stop.
	Backlog *Estimate `json:"backlog_pct,omitempty"`

	// Of distributed locks.
	ReleaseP50   *Estimate `json:"release_p50_ns,omitempty"`
	ReleaseP99   *Estimate `json:"release_p99_ns,omitempty"`
	RoundTrips   *Estimate `json:"round_trips_per_acquire,omitempty"`
	HandoffTrips *Estimate `json:"handoff_round_trips,omitempty"`
	Commands     *Estimate `json:"commands_per_acquire,omitempty"`
	Attempts     *Estimate `json:"attempts_per_acquire,omitempty"`
	ServerCPU    *Estimate `json:"server_cpu_ns_per_op,omitempty"`
	Timeouts     *Estimate `json:"timeouts_pct,omitempty"`
	LostLeases   *Estimate `json:"lost_leases,omitempty"`
	Orphans      *Estimate `json:"orphans,omitempty"`
	Deadlocks    *Estimate `json:"deadlocks,omitempty"`
}

// A PhaseSummary is one stage of a load that changes.
type PhaseSummary struct {
	Workers    int       `json:"workers"` // active
	Throughput *Estimate `json:"throughput_ops_s"`
}

// A CellSummary is one cell of a run: what its repetitions were and say. In
// JSON it is a record of type "summary".
type CellSummary struct {
	Type  string   `json:"type"` // "summary"
	RunID string   `json:"run_id"`
	Files []string `json:"files"` // that its run was read from
	// Labels and Interrupted are the run's: an interrupted one was stopped
	// before its plan was done.
	Labels      map[string]string `json:"labels,omitempty"`
	Interrupted bool              `json:"run_interrupted,omitempty"`
	Cell        string            `json:"cell"`
	Lock        string            `json:"lock"`
	Family      string            `json:"family"`
	Control     bool              `json:"control,omitempty"`
	Workload    string            `json:"workload"`
	Workers     int               `json:"workers"`
	Cores       int               `json:"cores"`
	Pin         string            `json:"pin"`
	Clients     int               `json:"clients"`
	Dispatch    string            `json:"dispatch"`
	Threads     string            `json:"threads"`
	RW          string            `json:"rw,omitempty"`
	Side        string            `json:"side,omitempty"` // of a paired session: old, new

	Reps     int            `json:"reps"`    // repetitions in the file
	OKReps   int            `json:"ok_reps"` // those that the metrics are from
	Outcome  string         `json:"outcome"` // the worst of the repetitions
	Outcomes map[string]int `json:"outcomes"`
	Reason   string         `json:"reason,omitempty"`     // of the first repetition with that outcome
	WorstOf  int            `json:"worst_reps,omitempty"` // repetitions with that outcome, if it is not ok

	OfferedOps float64 `json:"offered_ops_s,omitempty"` // open loop: the arrival rate asked for

	// Remote is what all repetitions of a distributed lock's cell have in common, of
	// the first: its servers and options, not its counts, which RemoteCounts adds up.
	Remote       *RemoteSettings `json:"remote,omitempty"`
	RemoteCounts *RemoteCounts   `json:"remote_counts,omitempty"`

	Metrics Metrics        `json:"metrics"`          // without OKReps, empty
	Phases  []PhaseSummary `json:"phases,omitempty"` // of a load that changes
	Marks   []Mark         `json:"marks,omitempty"`
	// Modes is set if the repetitions fall into two groups by throughput.
	Modes *Modes `json:"modes,omitempty"`
	// Outliers are repetitions far from the others. They are part of all figures.
	Outliers []Outlier `json:"outliers,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`

	// The latencies of all ok repetitions together, of a Builder made with
	// KeepHistograms; nil if no repetition has such a histogram.
	AcquireHist *MergedHist `json:"-"`
	HandoffHist *MergedHist `json:"-"`
	ReleaseHist *MergedHist `json:"-"` // of a distributed lock
}

// outcomes from the best to the worst.
var outcomeOrder = [...]string{OutcomeOK, OutcomeSkipped, OutcomeError, OutcomeHang, OutcomeViolation}

func outcomeRank(outcome string) int { return slices.Index(outcomeOrder[:], outcome) }

// Summarize folds the repetitions of one cell, at least one. planned is the
// number of repetitions that the run asked for, 0 = unknown.
func Summarize(samples []*Sample, planned int) *CellSummary {
	list := MetricList()
	c := summarize(samples[0], rowsOf(samples, list), planned, list)
	for _, s := range samples {
		c.Remote, c.RemoteCounts = addRemote(c.Remote, c.RemoteCounts, s)
	}
	return c
}

// addRemote adds a repetition, whose settings are taken if it is the first that has them.
func addRemote(set *RemoteSettings, counts *RemoteCounts, s *Sample) (*RemoteSettings, *RemoteCounts) {
	if s.Remote == nil {
		return set, counts
	}
	if set == nil {
		r := s.Remote.Settings()
		set, counts = &r, new(RemoteCounts)
	}
	counts.add(s)
	return set, counts
}

// RowName tells the cell from the others of its section: the lock, and for a
// distributed one that runs on several topologies which of them.
func (c *CellSummary) RowName() string { return RowName(c.Cell, c.Lock) }

// summarize does so with rows of list, in order of the repetitions; first has what
// all repetitions of a cell have in common.
func summarize(first *Sample, rows []row, planned int, list []Metric) *CellSummary {
	c := &CellSummary{
		Type: TypeSummary, Cell: first.Cell, Lock: first.Lock, Family: first.Family, Control: first.Control,
		Workload: first.Workload, Workers: first.Workers, Cores: first.Cores, Pin: first.Pin, Clients: first.Clients,
		Dispatch: first.Dispatch, Threads: first.Threads, RW: first.RW, Side: first.Side,
		Reps: len(rows), Outcome: OutcomeOK, Outcomes: map[string]int{},
	}
	var ok []row
	for _, r := range rows {
		c.Outcomes[r.outcome]++
		if outcomeRank(r.outcome) > outcomeRank(c.Outcome) {
			c.Outcome, c.Reason = r.outcome, r.reason
		}
		if r.outcome == OutcomeOK {
			ok = append(ok, r)
			c.OfferedOps = max(c.OfferedOps, r.offered)
		}
	}
	c.OKReps = len(ok)
	if c.Outcome != OutcomeOK {
		c.WorstOf = c.Outcomes[c.Outcome]
	}
	c.Metrics = metrics(ok, list)
	c.Phases = phases(ok)
	c.Modes = modes(ok, list)
	c.Outliers = outliers(ok, list, c.Modes)
	c.Marks = append(statMarks(c, ok, planned), flagMarks(rows)...)
	c.Warnings = warnings(&c.Metrics)
	return c
}

// statMarks are the doubts that only several repetitions show.
func statMarks(c *CellSummary, ok []row, planned int) []Mark {
	var marks []Mark
	n := len(ok)
	whole := func(word, format string, args ...any) {
		marks = append(marks, Mark{Word: word, K: n, N: n, Detail: fmt.Sprintf(format, args...)})
	}
	if t := c.Metrics.Throughput; t != nil {
		if t.CV != nil && *t.CV > NoisyCV {
			whole(MarkNoisy, "the repetitions' coefficient of variation is %.0f %%", 100**t.CV)
		}
		if c.Modes != nil {
			whole(MarkBimodal, "%s", c.Modes)
		}
		if n < MinReps {
			whole(MarkFew, "%d ok", n)
		}
	}
	if k := outlyingReps(c.Outliers); k > 0 {
		marks = append(marks, Mark{Word: MarkOutliers, K: k, N: n, Detail: outlierText(c.Outliers)})
	}
	partial := func(word string, is func(*row) bool, detail string) {
		k := 0
		for i := range ok {
			if is(&ok[i]) {
				k++
			}
		}
		if k > 0 {
			marks = append(marks, Mark{Word: word, K: k, N: n, Detail: detail})
		}
	}
	partial(MarkStarved, func(r *row) bool { return r.starved }, "")
	partial(MarkProbeDiffers, func(r *row) bool { return r.probeDiffers }, fmt.Sprintf("more than %d times as fast or as slow", probeFactor))
	// A skipped cell has one record: there is nothing to repeat.
	if c.Reps < planned && c.Outcome != OutcomeSkipped {
		marks = append(marks, Mark{Word: MarkIncomplete, K: c.Reps, N: planned, Detail: "in the file"})
	}
	return marks
}

// warnings joins those of the estimates, each text once.
func warnings(m *Metrics) []string {
	var out []string
	for _, e := range []*Estimate{m.Throughput, m.WallNS, m.CPUNS, m.AcquireP50, m.AcquireP99, m.Jain} {
		if e == nil {
			continue
		}
		for _, w := range e.Warnings {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}
