package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"lockbench/backends"
	"lockbench/chaos/inproc"
	"lockbench/chaos/witness"
	"lockbench/internal/claims"
	"lockbench/lock"
	"lockbench/results"
)

// run is one run of a matrix.
type run struct {
	o       Options
	id      string
	dir     string // of this run alone
	forget  func() // the watchdog need not remove it any more
	pool    *pool
	arena   *claims.Arena
	witness *witness.Server
	slots   atomic.Int64
	budget  *semaphore.Weighted // rounds of faults on clients at a time
	up      *semaphore.Weighted // clusters at a time
	opening sync.Mutex          // one comes up at a time: servers that start side by side on few processors time out

	mu      sync.Mutex
	cells   map[*Cell]*tally
	broke   map[*backends.Cluster]error
	soundAt map[*backends.Cluster]time.Time // when the last look at it began that found it healthy
	done    int
	total   int
	results map[*Cell]results.ChaosVerdict
	trust   trust
}

// tally is what has been seen of a cell.
type tally struct {
	rounds    []Observation
	pending   int // rounds begun or queued, of faults on clients
	probative int
	bad       int
}

// Run runs the cells and returns their verdicts, in the order of the cells. When ctx ends it returns what
// there is, and ctx's error.
func Run(ctx context.Context, o Options) ([]results.ChaosVerdict, error) {
	r := &run{o: o, id: o.RunID, cells: map[*Cell]*tally{}, results: map[*Cell]results.ChaosVerdict{}, broke: map[*backends.Cluster]error{}, soundAt: map[*backends.Cluster]time.Time{},
		budget: semaphore.NewWeighted(o.budget()), up: semaphore.NewWeighted(int64(o.Clusters))}
	r.o.Cells = slices.Clone(o.Cells)
	if slices.ContainsFunc(o.Cells, func(c *Cell) bool { return c.Skip == "" && c.Fault.On != OnProcess }) {
		r.o.Cells = append(slices.Clone(o.Controls), o.Cells...)
	}
	for _, c := range r.o.Cells {
		if c.Control {
			r.trust.open++
		}
		r.cells[c] = &tally{}
		if c.Skip == "" {
			r.total += o.RoundsOf(c)
		}
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	err := r.all(ctx)
	r.distrust()
	err = errors.Join(err, r.close())
	out := make([]results.ChaosVerdict, 0, len(r.o.Cells))
	for _, c := range r.o.Cells {
		if v, ok := r.results[c]; ok {
			out = append(out, v)
		}
	}
	return out, err
}

// prepare makes what all rounds share: the claims, the stores, the place for processes.
func (r *run) prepare() error {
	dir, err := os.MkdirTemp(r.o.TempDir, "lockbench-chaos-")
	if err != nil {
		return fmt.Errorf("make a directory for the run: %w", err)
	}
	r.dir = dir
	if r.o.HoldPath != nil {
		if r.forget, err = r.o.HoldPath(dir); err != nil {
			return err
		}
	}
	a, path, err := claims.Create(dir, claims.MaxKeys, claims.MaxWorkers, 0)
	if err != nil {
		return err
	}
	r.arena = a
	if r.witness, err = witness.Serve(dir); err != nil {
		return err
	}
	r.pool = &pool{argv: r.o.ClientArgv, start: r.o.Start, hold: r.o.Hold, arena: path, witness: r.witness.Path(),
		gate: make(chan struct{}, startAtOnce), idle: map[string][]*process{}, running: map[*process]struct{}{}}
	return nil
}

func (r *run) close() error {
	var errs []error
	if r.pool != nil {
		r.pool.close()
	}
	if r.witness != nil {
		errs = append(errs, r.witness.Close())
	}
	if r.arena != nil {
		errs = append(errs, r.arena.Close())
	}
	if r.dir != "" {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	if r.forget != nil {
		r.forget()
	}
	return errors.Join(errs...)
}

// nextSlot is a key of the arena that nobody has used.
func (r *run) nextSlot() int { return int(r.slots.Add(1)-1) % claims.MaxKeys }

// exit is when the claim of a grant ended by the arena; 0: it did not.
func (r *run) exit(g *grant, slot int) int64 {
	for _, c := range r.arena.Ring(g.worker) {
		if c.Key == uint64(slot) && c.Enter >= g.asked {
			return c.Exit
		}
	}
	return 0
}

// set are the parameters of a cell's fault that the user has set. Controls have none: what must be caught depends on
// the fault's own ones.
func (r *run) set(c *Cell) map[string]float64 {
	if c.Control {
		return nil
	}
	return r.o.Set[c.Fault.Name]
}

// broken notes that a cluster did not come back to health: it is not used again.
func (r *run) broken(c *backends.Cluster, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broke[c] != nil {
		return
	}
	r.broke[c] = err
	r.tell(fmt.Sprintf("%s is not healthy any more: %v", c.Facts().Topology, err))
}

func (r *run) isBroken(c *backends.Cluster) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broke[c]
}

// tell passes a line on. r.mu is held.
func (r *run) tell(line string) {
	if r.o.Log != nil {
		r.o.Log(line)
	}
}

func (r *run) log(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(line)
}

// all runs everything: cells on clients share a cluster a topology, faults on servers get one each.
func (r *run) all(ctx context.Context) error {
	type place struct {
		topology, fault string
		clock           bool
	}
	var order []place
	cells := map[place][]*Cell{}
	var inprocess []*Cell
	for _, c := range r.o.Cells {
		switch {
		case c.Skip != "":
			r.finish(c, unknownFacts(c), Times{})
			continue
		case c.Fault.On == OnProcess:
			inprocess = append(inprocess, c)
			continue
		}
		p := place{topology: c.Topology.Name}
		if c.Fault.On == OnServers {
			p.fault, p.clock = c.Fault.Name, c.Fault.Clock
		}
		if cells[p] == nil {
			order = append(order, p)
		}
		cells[p] = append(cells[p], c)
	}
	var wg sync.WaitGroup
	for _, p := range order {
		wg.Go(func() {
			if p.fault != "" {
				r.onServers(ctx, p.topology, p.clock, cells[p])
			} else {
				r.onClients(ctx, p.topology, cells[p])
			}
		})
	}
	wg.Go(func() { r.inProcess(ctx, inprocess) })
	wg.Wait()
	return context.Cause(ctx)
}

// open brings a cluster up. If it cannot be had on this machine its cells are skipped; if it should have come up and did
// not, they are unknown.
func (r *run) open(ctx context.Context, topology string, clock bool, cells []*Cell) *backends.Cluster {
	r.opening.Lock()
	defer r.opening.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	c, err := r.o.Open(ctx, topology, clock)
	if err == nil {
		return c
	}
	if ctx.Err() != nil {
		return nil
	}
	for _, x := range cells {
		if why := firstLine(err); backends.IsMissing(err) {
			x.Skip = why
		} else {
			x.Failed = why
		}
		r.finish(x, unknownFacts(x), Times{})
	}
	return nil
}

// onClients runs the rounds of faults on clients, side by side on one cluster.
func (r *run) onClients(ctx context.Context, topology string, cells []*Cell) {
	if topology != "loopback" { // which costs nothing
		heft := r.o.heft(topology)
		if r.up.Acquire(ctx, heft) != nil {
			return
		}
		defer r.up.Release(heft)
	}
	cluster := r.open(ctx, topology, false, cells)
	if cluster == nil {
		return
	}
	defer r.shut(cluster)
	type unit struct {
		cell  *Cell
		round int
	}
	var units []unit
	for _, c := range cells {
		r.cells[c].pending = r.o.RoundsOf(c)
		for round := range r.o.RoundsOf(c) {
			units = append(units, unit{c, round})
		}
	}
	rand.New(rand.NewPCG(r.o.Seed, 0)).Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	var wg sync.WaitGroup
	var begin func(u unit)
	begin = func(u unit) {
		weight := r.o.weigh(u.cell)
		if r.budget.Acquire(ctx, weight) != nil {
			return
		}
		wg.Go(func() {
			defer r.budget.Release(weight)
			g := r.newGroup([]*Cell{u.cell}, cluster, u.round)
			obs := g.do(ctx)
			if ctx.Err() != nil {
				return
			}
			if again, next := r.note(u.cell, obs[0], g.times, cluster); again {
				wg.Go(func() { begin(unit{u.cell, next}) })
			}
		})
	}
	for _, u := range units {
		begin(u)
	}
	wg.Wait()
}

// record takes a round of a cell in, and reports what is known of it now.
func (r *run) record(c *Cell, o Observation) *tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.cells[c]
	x.rounds = append(x.rounds, o)
	if o.Probative {
		x.probative++
	}
	if o.Felt && o.Bad() {
		x.bad++
	}
	if len(x.rounds) <= r.o.RoundsOf(c) {
		r.done++
	}
	if r.o.Event != nil {
		r.o.Event(event(c, o))
	}
	if r.o.Progress != nil {
		r.o.Progress(r.done, r.total)
	}
	return x
}

// note takes a round on clients in. again: it did not count, and another one is to be run.
func (r *run) note(c *Cell, o Observation, t Times, cluster *backends.Cluster) (again bool, round int) {
	x := r.record(c, o)
	want := r.o.RoundsOf(c)
	r.mu.Lock()
	x.pending--
	if begun := len(x.rounds) + x.pending; !o.Probative && x.bad == 0 && x.probative+x.pending < want && begun < most(want) {
		x.pending++
		again, round = true, begun
	}
	last := x.pending == 0
	r.mu.Unlock()
	if last {
		r.finish(c, cluster.Facts(), t)
	}
	return again, round
}

// most is how many rounds are run at most so that some number of them count.
func most(want int) int { return 2*want + 2 }

// event records an injection as an interval of the shared clock.
func event(c *Cell, o Observation) results.Event {
	j := o.Injection
	text := c.Fault.Name
	switch {
	case !o.Felt:
		text += ", not felt: " + o.Why
	case j.Evidence != "":
		text += ", felt: " + j.Evidence
	}
	if o.Felt && o.Why != "" {
		text += "; the round does not count: " + o.Why
	}
	return results.Event{Type: results.TypeEvent, Kind: "fault", Cell: c.Name(), Rep: o.Round, AtNS: j.InjectedNS,
		EndNS: max(j.RecoveredNS, j.FeltNS), Text: text}
}

// onServers runs the injections of one fault on servers, one after the other, each seen by all of its cells. Their number at a
// time is that of clusters: most of such a round is waiting for servers.
func (r *run) onServers(ctx context.Context, topology string, clock bool, cells []*Cell) {
	heft := r.o.heft(topology)
	if r.up.Acquire(ctx, heft) != nil {
		return
	}
	defer r.up.Release(heft)
	cluster := r.open(ctx, topology, clock, cells)
	if cluster == nil {
		return
	}
	defer func() { r.shut(cluster) }()
	rest := cells
	var times Times
	limit := 0
	for _, c := range cells {
		limit = max(limit, most(r.o.RoundsOf(c)))
	}
	for round := 0; len(rest) > 0 && round < limit; round++ {
		if ctx.Err() != nil {
			return
		}
		g := r.newGroup(rest, cluster, round)
		times = g.times
		obs := g.do(ctx)
		if ctx.Err() != nil {
			return
		}
		var next []*Cell
		for i, c := range rest {
			x, want := r.record(c, obs[i]), r.o.RoundsOf(c)
			if x.probative >= want || x.bad > 0 && len(x.rounds) >= want || len(x.rounds) >= most(want) {
				r.finish(c, cluster.Facts(), times)
			} else {
				next = append(next, c)
			}
		}
		rest = next
		if r.isBroken(cluster) != nil && len(rest) > 0 {
			r.shut(cluster)
			if cluster = r.open(ctx, topology, clock, nil); cluster == nil {
				break
			}
		}
	}
	for _, c := range rest {
		r.finish(c, unknownFacts(c), times)
	}
}

// unknownFacts are those of a cell's servers that are not there.
func unknownFacts(c *Cell) backends.Facts {
	f := backends.Facts{Topology: c.Topology.Name, Service: c.Topology.Service, Network: backends.NetworkBridge}
	switch {
	case c.Given:
		f.Network = backends.NetworkGiven
	case c.Topology.Service == lock.ServiceLoopback:
		f.Network = backends.NetworkHost
	}
	return f
}

// firstLine is an error without the servers' logs that may follow it.
func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// shut closes a cluster.
func (r *run) shut(c *backends.Cluster) {
	if c == nil {
		return
	}
	if len(c.Nodes()) == 0 {
		if err := c.Clean(context.Background(), "lockbench/"+r.id+"/"); err != nil {
			r.log(fmt.Sprintf("clean %s: %v", c.Facts().Topology, err))
		}
	}
	if err := c.Close(context.Background()); err != nil {
		r.log(err.Error())
	}
}

// times are those of a cluster and a fault.
func (r *run) times(c *backends.Cluster, f Fault) Times {
	return TimesOf(c.Target().Service, r.o.TTL, c.Facts().MinTTL, f)
}

// finish makes a cell's verdict.
func (r *run) finish(c *Cell, facts backends.Facts, t Times) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.verdict(c, r.cells[c].rounds, facts, t)
	r.publish(c, v)
}

// inProcessAtOnce is how many children with in-process locks run at a time: their waiters may spin.
const inProcessAtOnce = 1

// inProcess runs the faults of in-process locks.
func (r *run) inProcess(ctx context.Context, cells []*Cell) {
	sem := semaphore.NewWeighted(inProcessAtOnce)
	var wg sync.WaitGroup
	for _, c := range cells {
		if sem.Acquire(ctx, 1) != nil {
			break
		}
		wg.Go(func() {
			defer sem.Release(1)
			v, events, err := inproc.Run(ctx, inproc.Options{Argv: r.o.LockArgv, Start: r.o.Start, Hold: r.o.Hold, Lock: c.Lock,
				Fault: c.Fault.Name, Params: r.params(c), Rounds: r.o.RoundsOf(c), Seed: r.o.Seed})
			if ctx.Err() != nil {
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if err != nil {
				v.Verdict, v.Reason = results.VerdictUnknown, err.Error()
			}
			r.expect(&v, c, Times{})
			for _, e := range events {
				if r.o.Event != nil {
					r.o.Event(e)
				}
			}
			r.publish(c, v)
			r.done += r.o.RoundsOf(c)
			if r.o.Progress != nil {
				r.o.Progress(r.done, r.total)
			}
		})
	}
	wg.Wait()
}
