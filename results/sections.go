package results

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A Section is the cells that may be compared: they differ in the lock alone, or, where
// it is distributed, in the topology of its servers, too.
type Section struct {
	Workload string
	Workers  int
	Cores    int
	Pin      string
	Clients  int
	Dispatch string
	Threads  string
	Side     string // of a paired session: old, new
	// Params are the other parts of the cell name, such as "section=500".
	Params []string
	// OfferedOps is an open loop's arrival rate; 0 = a closed loop. It sets the
	// throughput, which therefore ranks nothing.
	OfferedOps float64
	// Cells: controls; then by throughput, in an open loop by p99 of acquire;
	// then what has no figures.
	Cells []*CellSummary
	// Control is the null row of the nearest section, which differs in dispatch
	// or threads, if this one has none of its own; nil if there is none at all.
	Control *CellSummary
}

// HasControl reports whether the section has a control of its own.
func (s *Section) HasControl() bool {
	return slices.ContainsFunc(s.Cells, func(c *CellSummary) bool { return c.Control })
}

// Distributed reports whether the section's locks are distributed ones.
func (s *Section) Distributed() bool { return s.Dispatch == DispatchRemote }

// borrowControls gives each section without a control the nearest one's.
func borrowControls(secs []*Section) {
	for _, s := range secs {
		if s.HasControl() {
			continue
		}
		best := -1
		for _, o := range secs {
			if o.Workload != s.Workload || o.Workers != s.Workers || o.Cores != s.Cores || o.Pin != s.Pin ||
				o.Clients != s.Clients || o.Distributed() != s.Distributed() || o.Side != s.Side || !slices.Equal(o.Params, s.Params) {
				continue
			}
			score := 0
			if o.Dispatch == s.Dispatch {
				score += 2
			}
			if o.Threads == s.Threads {
				score++
			}
			for _, c := range o.Cells {
				if c.Control && score > best {
					best, s.Control = score, c
				}
			}
		}
	}
}

// sectionKey is comparable; variant is the cell's name without its lock and topology.
type sectionKey struct {
	workload                        string
	workers, cores                  int
	variant, pin, dispatch, threads string
	side                            string
	clients                         int
}

func keyOf(s *Sample) sectionKey {
	variant, _ := Place(s.Cell, s.Lock)
	return sectionKey{
		workload: s.Workload, workers: s.Workers, cores: s.Cores, variant: variant,
		pin: s.Pin, dispatch: s.Dispatch, threads: s.Threads, clients: s.Clients, side: s.Side,
	}
}

// sections summarises the cells of a run and orders sections and cells; it
// returns the samples in that order, too.
func sections(r *RunReport, all map[cellKey]*cellData, list []Metric) ([]*Section, []*Sample) {
	type cell struct {
		sum     *CellSummary
		samples []*Sample
	}
	groups := map[sectionKey][]*cellData{}
	for k, c := range all {
		groups[k.section] = append(groups[k.section], c)
	}
	keys := make([]sectionKey, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	order := workloadOrder(r, all)
	slices.SortFunc(keys, func(a, b sectionKey) int {
		return cmp.Or(
			cmp.Compare(order[a.workload], order[b.workload]), strings.Compare(a.workload, b.workload),
			cmp.Compare(a.clients, b.clients), cmp.Compare(a.workers, b.workers), cmp.Compare(a.cores, b.cores),
			strings.Compare(a.variant, b.variant), strings.Compare(a.pin, b.pin),
			strings.Compare(a.dispatch, b.dispatch), strings.Compare(a.threads, b.threads),
			-strings.Compare(a.side, b.side)) // old, then new
	})

	var out []*Section
	var ordered []*Sample
	for _, k := range keys {
		var cells []cell
		for _, c := range groups[k] {
			slices.SortFunc(c.samples, func(a, b *Sample) int { return cmp.Compare(a.Rep, b.Rep) })
			rows := c.rows
			if len(rows) == 0 {
				rows = rowsOf(c.samples, list)
			}
			slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.rep, b.rep) })
			planned := r.Run.Reps
			if c.first.Side != "" && !r.Interrupted {
				planned = 0 // a gate stops measuring a cell that is decided
			}
			sum := summarize(c.first, rows, planned, list)
			sum.RunID, sum.Files, sum.Labels, sum.Interrupted = r.Run.RunID, r.Files, r.Run.Labels, r.Interrupted
			sum.AcquireHist, sum.HandoffHist, sum.ReleaseHist = c.acquire, c.handoff, c.release
			sum.Remote, sum.RemoteCounts = c.remote, c.counts
			cells = append(cells, cell{sum, c.samples})
		}
		offered := 0.0
		for _, c := range cells {
			offered = max(offered, c.sum.OfferedOps)
		}
		slices.SortFunc(cells, func(a, b cell) int { return compareCells(a.sum, b.sum, offered > 0) })
		sec := &Section{
			Workload: k.workload, Workers: k.workers, Cores: k.cores, Pin: k.pin, Clients: k.clients,
			Dispatch: k.dispatch, Threads: k.threads, Side: k.side, Params: params(k.variant),
			OfferedOps: offered,
		}
		for _, c := range cells {
			sec.Cells = append(sec.Cells, c.sum)
			ordered = append(ordered, c.samples...)
		}
		out = append(out, sec)
	}
	borrowControls(out)
	return out, ordered
}

// workloadOrder ranks workloads as the run asked for them; those that it does
// not name come after, by the fewest workers that they ran with.
func workloadOrder(r *RunReport, all map[cellKey]*cellData) map[string]int {
	order := map[string]int{}
	for k := range all {
		name := k.section.workload
		rank := len(r.Run.Workloads) + k.section.workers
		if i := slices.Index(r.Run.Workloads, name); i >= 0 {
			rank = i
		}
		if have, ok := order[name]; !ok || rank < have {
			order[name] = rank
		}
	}
	return order
}

// compareCells puts controls first, then locks by median throughput, the
// fastest first, then those without numbers and skipped ones last. In an open
// loop the arrivals set the throughput: there the shortest p99 of acquire comes
// first.
func compareCells(a, b *CellSummary, open bool) int {
	rank := func(c *CellSummary) int {
		switch {
		case c.Control:
			return 0
		case c.Ranked():
			return 1
		case c.Outcome != OutcomeSkipped:
			return 2
		}
		return 3
	}
	merit := func(c *CellSummary) float64 { // the smaller, the earlier
		switch {
		case !c.Ranked():
			return 0
		case !open:
			return -c.Metrics.Throughput.Median
		case c.Metrics.AcquireP99 == nil:
			return math.Inf(1)
		}
		return c.Metrics.AcquireP99.Median
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(merit(a), merit(b)), strings.Compare(a.Lock, b.Lock), strings.Compare(a.Cell, b.Cell))
}

// Ranked reports whether the cell's numbers mean anything beside others: some
// repetition was ok, and none let two workers into the section.
func (c *CellSummary) Ranked() bool {
	return c.Metrics.Throughput != nil && c.Outcome != OutcomeViolation
}

// params splits a cell name without its lock, leaving out what a Section has
// fields for.
func params(variant string) []string {
	var out []string
	for _, p := range strings.Split(variant, "/") {
		key, _, _ := strings.Cut(p, "=")
		switch key {
		case "", "workload", "workers", "cores", "pin", "clients", "dispatch", "threads":
		default:
			out = append(out, p)
		}
	}
	return out
}
