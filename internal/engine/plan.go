package engine

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"lockbench/internal/cell"
	"lockbench/lock"
	"lockbench/workloads"
)

// Machine is what a plan needs to know of the machine. The orders hold the
// same processors: those that the process may run on.
type Machine struct {
	Compact []int // siblings of a core first, then cores of a package
	Scatter []int // as far apart as possible
	Masks   bool  // affinity masks can be set
	// Topologies are the ways in which servers can be set up, each service's default
	// first; nil: not known.
	Topologies []Topology
}

// Cores returns how many processors the process may use.
func (m Machine) Cores() int { return len(m.Scatter) }

// Cell is one combination of lock, workload, workers and cores; it is
// measured Reps times.
type Cell struct {
	Name     string
	Lock     lock.Info
	Runner   string // program that runs it; empty: this one
	Workload workloads.Spec
	Workers  int // of each child
	Cores    int
	CPUs     []int // the affinity mask, sorted
	PinCPUs  []int // in the order of the workers; empty: unpinned
	Dispatch string
	Place    *Place // of a distributed lock; nil: it is in-process
	Skip     string // why it cannot be run; empty: it can
}

// AllWorkers is the number of workers of all children that make the cell.
func (c *Cell) AllWorkers() int { return c.Workers * c.clients() }

// clients is the number of children that make the cell.
func (c *Cell) clients() int {
	if c.Place == nil {
		return 1
	}
	return c.Place.Clients
}

// Step is one repetition of a cell.
type Step struct {
	Cell *Cell
	Rep  int
	Seed uint64
	// Program and Second are of a paired session: the program that runs it
	// (nil: this one), and whether it is the second of its pair.
	Program *Program
	Second  bool
}

// Plan is what a run will do, in order.
type Plan struct {
	Spec  Spec
	Cells []*Cell // in the order of the table, skipped ones included
	Steps []Step

	probe func(lock.Info) (lock.Caps, error)
}

// ErrNothing is the cause of NewPlan's error when all locks are skipped. The
// plan, which says why, is returned beside it; it has no steps.
var ErrNothing = errors.New("nothing can be measured")

// NewPlan makes the plan of a valid spec. The same spec, catalogue and machine
// give the same plan.
//
// Every repetition runs all cells once, in an order of its own: neighbours in
// time differ from repetition to repetition, so that a drift of the machine
// spreads over all cells, and a run that is cut short has all cells equally
// often. A run always measures null, in each dispatch that it uses.
func NewPlan(s Spec, catalogue []lock.Info, m Machine) (*Plan, error) {
	return NewPlanOf(s, catalogue, m, lock.Info.Probe)
}

// NewPlanOf is NewPlan for locks that other programs have: probe says what a
// lock's handle can do, or why it cannot be measured.
func NewPlanOf(s Spec, catalogue []lock.Info, m Machine, probe func(lock.Info) (lock.Caps, error)) (*Plan, error) {
	if err := s.Validate(m); err != nil {
		return nil, err
	}
	locks, err := Select(catalogue, s.Locks)
	if err != nil {
		return nil, err
	}
	if err := s.checkPlaces(locks, m); err != nil {
		return nil, err
	}
	for _, i := range catalogue {
		if _, ours := s.Runners[i.Name]; ours {
			return nil, usage(fmt.Errorf("runner: there is a lock named %q already", i.Name), "give the runner's lock another name")
		}
	}
	for name := range s.Runners {
		if !lock.ValidName(name) {
			return nil, usage(fmt.Errorf("runner: bad lock name %q", name), "names are lower case letters, digits and single dashes, and begin with a letter")
		}
		locks = append(locks, lock.Info{Name: name, Family: "runner", Source: s.Runners[name]})
	}
	slices.SortStableFunc(locks[len(locks)-len(s.Runners):], func(a, b lock.Info) int { return cmp.Compare(a.Name, b.Name) })
	p := &Plan{Spec: s, probe: probe}
	for _, w := range s.Workloads {
		for _, cores := range coresOf(s, m) {
			workers, err := workersOf(s, w, cores)
			if err != nil {
				return nil, err
			}
			for _, n := range workers {
				if err := checkLengths(s, w, n); err != nil {
					return nil, err
				}
				p.add(locks, catalogue, w, n, cores, m)
			}
		}
	}
	if !slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Skip == "" && !c.Lock.Control }) &&
		!slices.ContainsFunc(locks, func(i lock.Info) bool { return i.Control }) {
		return p, usage(fmt.Errorf("%w: %s: %s", ErrNothing, p.Cells[len(p.Cells)-1].Name, p.firstSkip()), "see: lockbench plan")
	}
	p.schedule()
	return p, nil
}

func (p *Plan) firstSkip() string {
	for _, c := range p.Cells {
		if c.Skip != "" {
			return c.Skip
		}
	}
	return "no cells"
}

func coresOf(s Spec, m Machine) []int {
	if len(s.Cores) == 0 {
		return []int{m.Cores()}
	}
	return distinct(s.Cores)
}

func workersOf(s Spec, w workloads.Spec, cores int) ([]int, error) {
	counts := s.Workers
	if len(counts) == 0 {
		counts = s.WorkersOf[w.Name]
	}
	if len(counts) == 0 {
		counts = []workloads.Count{w.Workers}
	}
	var out []int
	for _, c := range counts {
		n := c.On(cores)
		if n < 1 || n > workloads.MaxWorkers {
			return nil, usage(fmt.Errorf("workers: %d: want 1 to %d", n, workloads.MaxWorkers), "")
		}
		if s.Ops > 0 && s.Ops < int64(n) {
			return nil, usage(fmt.Errorf("ops: %d for %d workers: want at least one each", s.Ops, n), "--ops counts the operations of all workers")
		}
		out = append(out, n)
	}
	return distinct(out), nil
}

func distinct(v []int) []int {
	out := slices.Clone(v)
	slices.Sort(out)
	return slices.Compact(out)
}

// add adds the cells of all locks, led by null in each dispatch used.
func (p *Plan) add(locks, catalogue []lock.Info, w workloads.Spec, workers, cores int, m Machine) {
	var group, remote []*Cell
	used := map[string]bool{}
	for _, i := range locks {
		if i.Name == nullName {
			continue
		}
		if i.Dial != nil {
			if i.Name != nullLeaseName {
				remote = append(remote, p.remoteCells(i, w, workers, cores, m)...)
			}
			continue
		}
		c := p.cell(i, w, workers, cores, m)
		group = append(group, c)
		if c.Runner == "" {
			used[c.Dispatch] = true
		}
	}
	asked := slices.ContainsFunc(locks, func(i lock.Info) bool { return i.Name == nullLeaseName })
	if k := slices.IndexFunc(catalogue, func(i lock.Info) bool { return i.Name == nullLeaseName }); k >= 0 && (len(remote) > 0 || asked) {
		remote = append(p.remoteCells(catalogue[k], w, workers, cores, m), remote...)
	}
	if len(used) == 0 && len(remote) == 0 {
		used[p.Spec.Dispatch] = true
	}
	for _, d := range []string{cell.DispatchInterface, cell.DispatchDirect} {
		if k := slices.IndexFunc(catalogue, func(i lock.Info) bool { return i.Name == nullName }); used[d] && k >= 0 {
			c := p.cell(catalogue[k], w, workers, cores, m)
			if c.Dispatch != d {
				c.Dispatch = d
				c.Name = c.name(p.Spec, m)
			}
			group = append([]*Cell{c}, group...)
		}
	}
	p.Cells = append(append(p.Cells, group...), remote...)
}

// nullLeaseName is the distributed lock that does nothing, measured in every run of
// distributed locks.
const nullLeaseName = "null-lease"

// nullName is the lock that does nothing, measured in every run.
const nullName = "null"

func (p *Plan) cell(i lock.Info, w workloads.Spec, workers, cores int, m Machine) *Cell {
	c := &Cell{Lock: i, Workload: w, Workers: workers, Cores: cores, Dispatch: p.Spec.Dispatch, Runner: p.Spec.Runners[i.Name]}
	if m.Masks {
		order := m.Scatter
		if p.Spec.Pin == PinCompact {
			order = m.Compact
		}
		c.CPUs = slices.Clone(order[:cores])
		if p.Spec.Pin != PinNone {
			c.PinCPUs = slices.Clone(c.CPUs)
		}
		slices.Sort(c.CPUs)
	}
	if c.Runner == "" {
		c.resolve(p.probe)
	} else {
		c.Dispatch = cell.DispatchExternal
	}
	c.Name = c.name(p.Spec, m)
	return c
}

// name is the cell's name in the form of a Go benchmark name; what is at its
// default is left out.
func (c *Cell) name(s Spec, m Machine) string {
	n := fmt.Sprintf("%s/workload=%s/workers=%d", c.Lock.Name, c.Workload.Name, c.Workers)
	if c.Cores != m.Cores() {
		n += fmt.Sprintf("/cores=%d", c.Cores)
	}
	if s.Pin != PinNone {
		n += "/pin=" + s.Pin
	}
	if c.Dispatch != cell.DispatchDirect {
		n += "/dispatch=" + c.Dispatch
	}
	return n
}

// resolve looks for the capabilities that the cell needs.
func (c *Cell) resolve(probe func(lock.Info) (lock.Caps, error)) {
	caps, err := probe(c.Lock)
	if err != nil {
		c.Skip = err.Error()
		return
	}
	if !caps.Loops {
		c.Dispatch = cell.DispatchInterface
	}
	w := c.Workload
	switch {
	case c.Lock.MaxWorkers > 0 && c.Workers > c.Lock.MaxWorkers:
		c.Skip = fmt.Sprintf("for at most %d workers", c.Lock.MaxWorkers)
	case w.Order != "":
		c.Skip = "transfers are for distributed locks"
	case w.Keys.Kind == "own" && c.Workers > workloads.MaxLocks:
		c.Skip = fmt.Sprintf("own locks of %d workers: at most %d", c.Workers, workloads.MaxLocks)
	case w.Try > 0 && !caps.Try:
		c.Skip = "has no TryLock"
	case w.Timed > 0 && !caps.Timed:
		c.Skip = "has no LockFor"
	}
}

// schedule shuffles the cells anew for each repetition.
func (p *Plan) schedule() {
	for rep := range p.Spec.Reps {
		var block []Step
		for _, c := range p.Cells {
			if c.Skip == "" {
				block = append(block, Step{Cell: c, Rep: rep, Seed: stepSeed(p.Spec.Seed, c, rep)})
			}
		}
		rng := rand.New(rand.NewPCG(p.Spec.Seed, uint64(rep)))
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		p.Steps = append(p.Steps, block...)
	}
}

// stepSeed derives the seed of a repetition. It does not depend on the lock:
// all locks of a repetition meet the same section lengths in the same order.
func stepSeed(seed uint64, c *Cell, rep int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%d/%d/%d", seed, c.Workload.Name, c.Workers, c.Cores, rep)
	return h.Sum64()
}

// stepOverhead is what a repetition costs beside its intervals, for the
// estimate: starting the child, two coherence measurements, ending.
const stepOverhead = 18 * time.Millisecond

// serversTime is what bringing servers up and removing them takes, for the estimate.
const serversTime = 4 * time.Second

// remoteOverhead is what a client process adds: it dials, and ends its session.
const remoteOverhead = 25 * time.Millisecond

// settling is how long spinning workers take to begin when there are more of
// them than cores: a preemption of 10 ms for each turn, at most 250 ms.
func (c *Cell) settling() time.Duration {
	if c.Workers <= c.Cores {
		return 0
	}
	return min(250*time.Millisecond, 10*time.Millisecond*time.Duration((c.Workers-1)/c.Cores))
}

// Estimate returns how long the plan will take. Fixed work is not known
// beforehand; ok is then false and the rest is estimated.
func (p *Plan) Estimate() (d time.Duration, ok bool) {
	d = calibrationTime
	for _, s := range p.Steps {
		d += p.stepTime(s.Cell)
	}
	if slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Place != nil && c.Skip == "" && !c.Lock.Control }) {
		d += serversTime
	}
	return d, p.Spec.Ops == 0
}

// EstimateRound returns how long one repetition of all cells will take.
func (p *Plan) EstimateRound() (d time.Duration, ok bool) {
	for _, c := range p.Cells {
		if c.Skip == "" {
			d += p.stepTime(c)
		}
	}
	return d, p.Spec.Ops == 0
}

func (p *Plan) stepTime(c *Cell) time.Duration {
	if c.Place != nil {
		d := stepOverhead + remoteOverhead*time.Duration(c.Place.Clients) + p.Spec.Remote.Warmup
		if p.Spec.Ops == 0 {
			d += p.Spec.Remote.Duration
		}
		return d
	}
	d := stepOverhead + p.Spec.Warmup + c.settling()
	if p.Spec.Ops == 0 {
		d += p.Spec.Duration + p.Spec.ProbeLength()
	}
	return d
}
