package results

// Marks of a chaos cell: the values of ChaosVerdict.Verdict and, but for the last two, of Expected.
const (
	VerdictSafe    = "safe"
	VerdictFence   = "safe-with-fence" // the unfenced store was damaged, the fenced one was not
	VerdictUnsafe  = "unsafe"
	VerdictUnknown = "unknown" // too few probative rounds, or the controls failed
	VerdictSkipped = "skipped" // Reason says why
)

// Timing is a distribution of few durations, in ms.
type Timing struct {
	Count int      `json:"count"`
	P50   float64  `json:"p50_ms"`
	P99   *float64 `json:"p99_ms"` // nil below 100 rounds
	Max   float64  `json:"max_ms"`
}

// ChaosVerdict is a record of type "verdict": what became of one lock under one fault and one policy.
// Pointers are null where there is nothing to tell: no token, no such moment.
type ChaosVerdict struct {
	Type     string `json:"type"` // "verdict"
	Lock     string `json:"lock"`
	Kind     string `json:"kind"` // of the lock: lease, guarded, optimistic, lock
	Peer     string `json:"peer,omitempty"`
	Topology string `json:"topology"`
	Network  string `json:"network,omitempty"`
	Version  string `json:"server_version,omitempty"`
	Fault    string `json:"fault"`
	On       string `json:"on"`     // whom the fault hits: nothing, holder, next, servers, process
	Policy   string `json:"policy"` // careful, careless, guarded; of in-process locks: plain
	// Params are those of the fault, with their units in the names.
	Params map[string]float64 `json:"params,omitempty"`
	TTLMS  float64            `json:"ttl_ms,omitempty"` // as granted

	Rounds     int `json:"rounds"`     // run
	Felt       int `json:"felt"`       // in which independent evidence showed the fault
	Probative  int `json:"probative"`  // of these, with the next grant and the danger step
	Injections int `json:"injections"` // independent ones: of faults on servers, those on the cluster

	Verdict  string `json:"verdict"`
	Expected string `json:"expected"` // "" : expect.yaml knows no such cell
	Agrees   bool   `json:"agrees"`
	// AtMost is the 95 % upper bound, in percent, of the share of bad rounds when there was none; nil if there was.
	AtMost *float64 `json:"bad_at_most_pct,omitempty"`
	Bad    int      `json:"bad_rounds"`
	Reason string   `json:"reason,omitempty"` // why skipped or unknown, or what was bad, in words
	// Known: the verdict differs from theory, and is the one that was found and explained before (Note).
	Known  bool   `json:"known,omitempty"`
	Theory string `json:"theory,omitempty"` // the expectation's reason and source
	Note   string `json:"note,omitempty"`   // explanation of a difference from theory, from expect.yaml

	OverlapMaxMS        float64 `json:"overlap_ms_max"`         // longest time that two claims stood
	OverlapRunningMaxMS float64 `json:"overlap_running_ms_max"` // the same without the time that one was stopped
	DoubleGrants        int     `json:"double_grants"`
	StaleHolders        int     `json:"stale_holders"`
	StaleUnfenced       int     `json:"stale_writes_unfenced"`
	StaleFenced         *int    `json:"stale_writes_fenced"`
	CurrentRejected     *int    `json:"current_rejected"`
	LostUpdates         *int64  `json:"lost_updates,omitempty"` // guarded and optimistic: acknowledged, not there
	Recovery            *Timing `json:"recovery"`
	DetectionLag        *Timing `json:"detection_lag"`
	// PastDeadline is how long after the holder's own deadline the next one was granted, of leases that expire
	// and were not released.
	PastDeadline *Timing  `json:"past_deadline,omitempty"`
	Gap          *Timing  `json:"availability_gap,omitempty"`
	BoundMS      *float64 `json:"bound_ms"`        // of the recovery, by theory
	BoundText    string   `json:"bound,omitempty"` // its formula
	Orphans      int      `json:"orphans"`
	// Linearizable: "yes", "no", "unknown" of Porcupine, "" where nobody asked.
	Linearizable string `json:"linearizable,omitempty"`
	Seed         uint64 `json:"seed"`
	// Counterexample is the timeline of one bad round, in text; Counterfile where the files are.
	Counterexample string  `json:"counterexample,omitempty"`
	Counterfile    string  `json:"counterexample_file,omitempty"`
	Control        bool    `json:"control,omitempty"` // the harness's own check
	ElapsedMS      float64 `json:"elapsed_ms"`
}
