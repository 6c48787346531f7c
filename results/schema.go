package results

// SchemaMajor is the version of the record schema. Readers refuse another
// major version; new fields with new names do not change it.
const SchemaMajor = 1

// Record types: the values of the field "type".
const (
	TypeRun     = "run"
	TypeSample  = "sample"
	TypeEvent   = "event"
	TypeVerdict = "verdict"
	TypeSummary = "summary"
)

// Outcome of one repetition.
const (
	OutcomeOK        = "ok"
	OutcomeSkipped   = "skipped"   // the lock or the platform cannot do it; Reason says why
	OutcomeHang      = "hang"      // no worker progressed for the time-out
	OutcomeViolation = "violation" // two workers in the section, or a lost update
	OutcomeError     = "error"     // the child crashed, or broke the protocol
)

// EventFault is the kind of event that a chaos run writes for each injection: an interval from AtNS to
// EndNS, with the evidence in Text.
const EventFault = "fault"

// EventInterrupted is the kind of event that a run writes when it is stopped
// before its plan is done.
const EventInterrupted = "interrupted"

// Flags: doubts in words. A flag is "word" or "word: detail"; FlagWord gives
// the first part.
const (
	FlagCollapsed      = "collapsed"      // fewer than 100 operations a worker
	FlagGC             = "gc"             // a garbage collection ran inside an interval
	FlagCoherence      = "coherence"      // the cost of moving a cache line changed within the cell
	FlagSteal          = "steal"          // the hypervisor took processor time away
	FlagBusy           = "busy"           // other programs used the processors meanwhile
	FlagOversubscribed = "oversubscribed" // more workers than cores
	FlagInterface      = "interface"      // no generated loops: measured by interface calls
	FlagClock          = "clock"          // the cheap clock disagreed with the monotonic one
	FlagIdle           = "idle-workers"   // an active worker did nothing in a load phase
	FlagUnsampled      = "unsampled"      // workers whose waits, if they waited, are not in the latencies
	FlagFewSamples     = "few-samples"    // too few latency samples for the high percentiles
	FlagNoRecovery     = "no-recovery"    // throughput did not come back after a load phase
	FlagLate           = "late"           // open loop: the harness was late for planned arrivals; latencies contain it
	FlagBacklog        = "backlog"        // open loop: arrivals were not served in time
	FlagFewOps         = "few-operations" // fewer than 100 operations a worker, because sections are long
	FlagDrain          = "slow-drain"     // workers took long to leave after the stop
	FlagOverlap        = "little-overlap" // workers ran together for only a part of the interval
	FlagTimeouts       = "timeouts"       // distributed: operations got no lock in time
	FlagFallback       = "fallback"       // distributed: sections ran without the lock after a time-out
	FlagLost           = "lost-leases"    // distributed: leases ended before they were released
	FlagUnknown        = "unknown"        // distributed: requests whose outcome is not known
	FlagErrors         = "errors"         // distributed: operations failed
	FlagOrphans        = "orphans"        // distributed: grants came after the caller had left
	FlagStale          = "stale-holder"   // distributed: a holder stayed longer than its lease and met the next one
	FlagDeadlock       = "deadlock"       // distributed: workers waited for each other; says by which way out
)

// Run is the header of a file, one a run.
type Run struct {
	Type    string  `json:"type"` // "run"
	Schema  int     `json:"schema"`
	RunID   string  `json:"run_id"`
	Started string  `json:"started"` // RFC 3339, UTC
	Seed    uint64  `json:"seed"`
	Spec    any     `json:"spec"` // what was asked for, defaults filled in
	Host    any     `json:"host"` // internal/host.Info
	Go      GoInfo  `json:"go"`
	Program Program `json:"program"`
	Clock   Clock   `json:"clock"`
	// Calibration of the work unit, frozen for the whole run.
	Calibration  Calibration       `json:"calibration"`
	Doubts       []string          `json:"doubts,omitempty"` // what about the host makes numbers doubtful
	Labels       map[string]string `json:"labels,omitempty"`
	Workloads    []string          `json:"workloads,omitempty"` // in the order asked for, which reports keep
	CellsPlanned int               `json:"cells_planned"`
	Reps         int               `json:"reps"`
	// Programs of a paired session (lockbench ab), the old side's first; a
	// sample's Program is an index into it. Absent in an ordinary run, whose
	// program is Program.
	Programs []SideProgram `json:"programs,omitempty"`
}

// Sides of a paired session.
const (
	SideOld = "old"
	SideNew = "new"
)

// SideProgram is one of the programs that a paired session compares.
type SideProgram struct {
	Side     string `json:"side"` // SideOld, SideNew
	File     string `json:"file"` // as given
	SHA256   string `json:"sha256"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
}

// GoInfo is the toolchain and how the program was built.
type GoInfo struct {
	Version string            `json:"version"`
	GOOS    string            `json:"goos"`
	GOARCH  string            `json:"goarch"`
	Build   map[string]string `json:"build,omitempty"` // build settings such as -race, -pgo, GOAMD64
}

// Program is the build of lockbench (or of a user's program on lockbench.Main).
type Program struct {
	Path     string `json:"path"`    // import path of the main package
	Version  string `json:"version"` // module version, "(devel)" from a checkout
	Revision string `json:"revision,omitempty"`
	Dirty    bool   `json:"dirty"`
	Protocol int    `json:"protocol"` // major version of the cell protocol
}

// String is the version in one word: module version, then the revision, if it
// is known, and whether there were uncommitted changes.
func (p Program) String() string {
	v := p.Version
	if p.Revision != "" {
		v += "+" + p.Revision[:min(12, len(p.Revision))]
	}
	if p.Dirty {
		v += "-dirty"
	}
	return v
}

// Clock is the time stamp source of the measured loops.
type Clock struct {
	Kind         string  `json:"kind"`          // "tsc", "cntvct", "monotonic"
	CostNS       float64 `json:"cost_ns"`       // of one reading
	ResolutionNS float64 `json:"resolution_ns"` // smallest step seen
	HZ           float64 `json:"hz"`            // ticks a second
	ErrorPPM     float64 `json:"error_ppm"`     // disagreement with the monotonic clock while calibrating
}

// Calibration says how long one work unit took when the run began.
type Calibration struct {
	UnitNS    float64 `json:"unit_ns"`     // median
	UnitMADNS float64 `json:"unit_mad_ns"` // median absolute deviation
	Rounds    int     `json:"rounds"`
}

// Latency is a distribution of times. Percentiles are of the weighted samples.
type Latency struct {
	Count int64 `json:"count"` // samples taken
	Every int   `json:"every"` // one in so many operations was sampled, at most
	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p999_ns"`
	Max   int64 `json:"max_ns"`
	// Clamped is how many of the samples were below 0 or above one hour.
	Clamped int64  `json:"clamped,omitempty"`
	HDR     string `json:"hdr,omitempty"` // HdrHistogram V2 compressed, base64
}

// Fairness of the distribution of acquisitions over workers. Jain, MaxMin and
// RSD are over the throughput interval's per-worker counts; the medians are
// from the probe interval's order log. A nil pointer is "absent", not zero.
type Fairness struct {
	// Jain's index, 1/n (one worker got all) to 1 (equal); R. Jain, D. Chiu,
	// W. Hawe, DEC-TR-301, 1984.
	Jain *float64 `json:"jain,omitempty"`
	// MaxMin is the largest count over the smallest; absent if the smallest is 0.
	MaxMin *float64 `json:"max_min,omitempty"`
	// RSD is the relative standard deviation of the counts, 0 = equal.
	RSD *float64 `json:"rsd,omitempty"`
	// LWSSMedian is the median number of distinct workers in windows of 1000
	// consecutive acquisitions; MTTRMedian the median number of acquisitions
	// until the same worker is back (D. Dice, "Malthusian Locks", EuroSys 2017).
	LWSSMedian *float64 `json:"lwss_median,omitempty"`
	MTTRMedian *float64 `json:"mttr_median,omitempty"`
}

// Phase is one stage of a workload whose load changes.
type Phase struct {
	Workers       int     `json:"workers"` // active
	ElapsedNS     int64   `json:"elapsed_ns"`
	Ops           int64   `json:"ops"`
	ThroughputOps float64 `json:"throughput_ops_s"`
}

// Sample is one repetition of one cell. Cell is its name in the form of a Go
// benchmark name without the leading "Benchmark".
type Sample struct {
	Type     string `json:"type"` // "sample"
	Cell     string `json:"cell"`
	Lock     string `json:"lock"`
	Family   string `json:"family"`
	Control  bool   `json:"control,omitempty"`
	Workload string `json:"workload"`
	Workers  int    `json:"workers"`
	Cores    int    `json:"cores"`
	CPUs     []int  `json:"cpus,omitempty"` // the affinity mask
	Pin      string `json:"pin"`            // none, compact, scatter
	Clients  int    `json:"clients"`        // child processes that made the cell
	Rep      int    `json:"rep"`            // 0-based; in a paired session the number of the pair
	Seed     uint64 `json:"seed"`
	Dispatch string `json:"dispatch"`     // direct, interface
	Threads  string `json:"threads"`      // free, locked
	RW       string `json:"rw,omitempty"` // shared, exclusive; absent without read sections
	// Side, Program and Second are of a paired session: which side the program
	// is on, its index in Run.Programs, and whether it ran second in its pair.
	Side    string `json:"side,omitempty"`
	Program int    `json:"program,omitempty"`
	Second  bool   `json:"second,omitempty"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`

	Ops            int64   `json:"ops"`              // acquisitions in the throughput interval
	ElapsedNS      int64   `json:"elapsed_ns"`       // of the throughput interval
	ProbeOps       int64   `json:"probe_ops"`        // acquisitions in the probe interval
	ProbeElapsedNS int64   `json:"probe_elapsed_ns"` // of the probe interval
	WarmupNS       int64   `json:"warmup_ns"`
	DrainNS        int64   `json:"drain_ns"` // from the stop until the last worker had left, excluded
	ThroughputOps  float64 `json:"throughput_ops_s"`
	WallNSPerOp    float64 `json:"wall_ns_per_op,omitempty"` // elapsed / ops: of the whole, not of a worker; absent without operations
	CPUNSPerOp     float64 `json:"cpu_ns_per_op,omitempty"`  // processor time of the process / ops
	PerWorkerOps   []int64 `json:"per_worker_ops,omitempty"`
	PerWorkerNS    []int64 `json:"per_worker_ns,omitempty"` // fixed work: when each worker was done

	Acquire  *Latency `json:"acquire,omitempty"`
	Handoff  *Latency `json:"handoff,omitempty"`
	Fairness Fairness `json:"fairness"`

	ContendedPct      *float64 `json:"contended_pct,omitempty"`
	CoherenceNS       *float64 `json:"coherence_ns,omitempty"` // one-way cost of moving a line between two of the CPUs, mean of before and after
	CoherenceBeforeNS *float64 `json:"coherence_before_ns,omitempty"`
	CoherenceAfterNS  *float64 `json:"coherence_after_ns,omitempty"`
	SectionMeasuredNS *float64 `json:"section_measured_ns,omitempty"` // median of the sampled sections
	ThinkMeasuredNS   *float64 `json:"think_measured_ns,omitempty"`
	SectionMeanNS     *float64 `json:"section_mean_ns,omitempty"` // means of the same samples: a rare long one shows here
	ThinkMeanNS       *float64 `json:"think_mean_ns,omitempty"`
	Lateness          *Latency `json:"lateness,omitempty"`    // open loop: how late the harness itself was after waiting for a planned arrival
	OverlapPct        *float64 `json:"overlap_pct,omitempty"` // share of the interval in which all workers ran
	CtxVoluntary      int64    `json:"ctx_voluntary"`
	CtxInvoluntary    int64    `json:"ctx_involuntary"`
	GCCount           int64    `json:"gc_count"`
	StealPct          *float64 `json:"steal_pct,omitempty"`
	OthersPct         *float64 `json:"others_pct,omitempty"` // share of all processor time that other programs used
	PeakRSSBytes      int64    `json:"peak_rss_bytes"`
	OverheadNS        int64    `json:"overhead_ns"` // life of the child beyond its warm-up and intervals; the drain is part of it
	Violations        int64    `json:"violations"`

	TryFailed  int64   `json:"try_failed,omitempty"`    // failed tries, not acquisitions
	TimedOut   int64   `json:"timed_out,omitempty"`     // timed acquisitions that gave up
	ReadOps    int64   `json:"read_ops,omitempty"`      // of Ops, those that were read sections
	OfferedOps float64 `json:"offered_ops_s,omitempty"` // open loop: the arrival rate asked for
	BacklogOps int64   `json:"backlog_ops,omitempty"`   // open loop: arrivals not served at the stop
	Phases     []Phase `json:"phases,omitempty"`
	ClockReads int64   `json:"clock_reads_throughput"` // readings of the clock by workers in the throughput interval
	Mallocs    int64   `json:"mallocs_throughput"`     // heap objects allocated from the warm-up to the end of the probe, the harness's own included

	// Remote is of distributed locks.
	Remote *Remote `json:"remote,omitempty"`

	Flags []string `json:"flags,omitempty"`
}

// Event is something that happened beside the figures: a hang's goroutine
// dump, an interrupt, a finding.
type Event struct {
	Type   string `json:"type"` // "event"
	Kind   string `json:"kind"` // "hang", "crash", "interrupted", "violation", "step", "fault", ...
	Cell   string `json:"cell,omitempty"`
	Rep    int    `json:"rep"`
	Worker *int   `json:"worker,omitempty"`
	AtNS   int64  `json:"at_ns,omitempty"`  // on the machine's monotonic clock
	EndNS  int64  `json:"end_ns,omitempty"` // of what lasts, on the same clock
	Text   string `json:"text,omitempty"`
	Dump   string `json:"dump,omitempty"` // goroutine dump, at most 64 KiB
}
