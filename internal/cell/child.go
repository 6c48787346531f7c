package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/lock/loop"
	"lockbench/results"
)

// Lookup returns the catalogue line of a lock.
type Lookup func(name string) (lock.Info, error)

// child is one repetition in this process.
type child struct {
	spec    *Spec
	info    lock.Info
	conn    *Conn
	clk     clock.Clock
	general bool
	workers []*worker
	prot    []*loop.Protected // a Control: one a worker and lock, not judged
	hists   *hists
	feeds   []chan *interval
	threads string
	shared  bool // read sections really are shared

	remote *remote // of a distributed lock; the fields above but these are then unused

	failure chan error    // a worker's
	stop    chan struct{} // the parent wants us to stop

	before        *float64     // coherence mode before the intervals
	open          bool         // the staged meeting let two in
	since         uint64       // count of the first lock when the order log began
	unsampled     atomic.Int64 // workers of which nobody knows whether they waited or did not run
	stealTicks    uint64       // taken by the hypervisor meanwhile, in the kernel's unit of 10 ms
	otherTicks    float64      // used by other programs
	ticks0, mono0 int64        // for the check of the clock
}

// errStopped ends a repetition that the parent stopped.
var errStopped = errors.New("stopped")

// hangError is a repetition in which nobody progressed.
type hangError struct{ text string }

func (e *hangError) Error() string { return e.text }

// Main runs one repetition: it reads a spec from in, and writes the record to
// out. program is sent to the parent as the version of the runner. When in
// ends, the parent is dead, and exit is called at once, from another
// goroutine: the lock under test may keep all others from running. The result
// is an exit code; failures are records, so it is 0 unless nobody listens.
func Main(lookup Lookup, program string, in io.Reader, out io.Writer, exit func(int)) int {
	noCoreFiles()
	conn := NewConn(in, out)
	m, err := conn.Receive()
	if err != nil {
		return 1 // no parent, or none that speaks the protocol
	}
	c := &child{conn: conn, failure: make(chan error, 1), stop: make(chan struct{}, 1)}
	if err := c.accept(m, lookup); err != nil {
		return c.report(nil, err)
	}
	start := make(chan int64, 1)
	go c.listen(start, exit)
	if c.spec.Remote != nil {
		err = c.setUpRemote()
	} else {
		c.before, err = c.setUp()
	}
	if err != nil {
		return c.report(nil, err)
	}
	if err := conn.Send(Message{Type: MsgReady, Protocol: ProtocolMajor, PID: os.Getpid(), Program: program}); err != nil {
		return 1
	}
	var at int64
	select {
	case at = <-start:
		sleepUntil(at)
	case <-c.stop:
		return 0
	}
	var s *results.Sample
	if c.remote != nil {
		s, err = c.remote.run(at)
	} else {
		s, err = c.measure(c.before)
	}
	return c.report(s, err)
}

// accept checks the first message.
func (c *child) accept(m Message, lookup Lookup) error {
	if m.Type != MsgSpec {
		return fmt.Errorf("first message is %q: want %q", m.Type, MsgSpec)
	}
	c.spec, c.clk = m.Spec, m.Spec.Clock
	if m.Protocol != ProtocolMajor {
		return fmt.Errorf("cell protocol %d: this program speaks %d", m.Protocol, ProtocolMajor)
	}
	if err := m.Spec.Validate(); err != nil {
		return err
	}
	if m.Spec.Clients < 1 {
		m.Spec.Clients = 1
	}
	info, err := lookup(m.Spec.Lock)
	if err != nil {
		return err
	}
	c.info = info
	return nil
}

// listen handles the parent's messages until the stream ends.
func (c *child) listen(start chan<- int64, exit func(int)) {
	for {
		m, err := c.conn.Receive()
		if err != nil {
			exit(1)
			return
		}
		switch m.Type {
		case MsgGo:
			select {
			case start <- m.AtNS:
			default:
			}
		case MsgStop:
			select {
			case c.stop <- struct{}{}:
			default:
			}
		}
	}
}

// sleepUntil waits for an instant on the shared monotonic clock; 0 is now. The
// last stretch is polled, so that several children begin together.
func sleepUntil(at int64) {
	for at > 0 {
		left := time.Duration(at - clock.Shared())
		if left <= 0 {
			return
		}
		if left > 2*time.Millisecond {
			time.Sleep(left - 2*time.Millisecond)
			continue
		}
		runtime.Gosched()
	}
}

// setUp makes the lock and its workers and returns the coherence mode before.
func (c *child) setUp() (before *float64, err error) {
	if err := c.verifyCores(); err != nil {
		return nil, err
	}
	if c.info.Unavailable != "" {
		return nil, errors.New(c.info.Unavailable)
	}
	if c.info.New == nil {
		return nil, fmt.Errorf("lock %s is not an in-process lock", c.info.Name)
	}
	load := c.spec.Load
	c.general = load.General()
	c.threads = "free"
	bound := c.info.ThreadBound || len(c.spec.PinCPUs) > 0
	if bound {
		c.threads = "locked"
	}
	locks := make([]lock.Lock, load.Locks)
	for i := range locks {
		if locks[i], err = c.info.New(c.spec.Workers); err != nil {
			return nil, fmt.Errorf("make lock %s for %d workers: %w", c.info.Name, c.spec.Workers, err)
		}
	}
	c.prot = newProtected(load.Locks, load.ReadLines+load.WriteLines, c.logged())
	rng := rand.New(rand.NewPCG(c.spec.Seed, 0))
	var controls []*loop.Protected
	for i := range c.spec.Workers {
		w := newWorker(c, i)
		w.bound = bound
		if n := len(c.spec.PinCPUs); n > 0 {
			w.pin = c.spec.PinCPUs[i%n]
		}
		me := &lock.Worker{ID: i}
		handles := make([]lock.Handle, len(locks))
		for k, l := range locks {
			handles[k] = l.NewHandle(me)
		}
		_, c.shared = handles[0].(lock.RWHandle)
		prot := c.prot
		if c.info.Control {
			prot = newProtected(load.Locks, load.ReadLines+load.WriteLines, i < controlLogs && c.logged())
			if i >= controlLogs && c.logged() {
				prot[0].ShareLog(controls[i%controlLogs])
			}
			controls = append(controls, prot[0])
		}
		w.equip(handles, prot, rng)
		c.workers = append(c.workers, w)
	}
	c.hists = newHists(c.spec.Workers)
	for _, w := range c.workers {
		feed := make(chan *interval)
		c.feeds = append(c.feeds, feed)
		go w.main(feed)
	}
	if c.spec.Workers == 1 && !c.info.Control && c.info.MaxWorkers != 1 {
		stayed, err := excludes(c.info)
		if err != nil {
			return nil, err
		}
		c.open = !stayed
	}
	before = c.coherence()
	c.ticks0, c.mono0 = clock.Pair()
	return before, nil
}

// controlLogs is how many order logs the workers of a Control share.
const controlLogs = 16

// logged reports whether the order of acquisitions is logged: on one lock. The
// probe loop always writes it there.
func (c *child) logged() bool { return c.spec.Load.Locks == 1 }

// ordered reports whether the log can be read: worker ids fit in a byte.
func (c *child) ordered() bool { return c.logged() && c.spec.Workers <= loop.MaxLoggedWorkers }

func newProtected(locks, lines int, ordered bool) []*loop.Protected {
	p := make([]*loop.Protected, locks)
	for i := range p {
		p[i] = loop.NewProtected(lines, ordered)
	}
	return p
}

// verifyCores fails unless the process runs where the parent wanted it to.
func (c *child) verifyCores() error {
	if n := runtime.GOMAXPROCS(0); n != c.spec.Procs {
		return fmt.Errorf("GOMAXPROCS is %d: want %d", n, c.spec.Procs)
	}
	if len(c.spec.CPUs) == 0 || !CanPin {
		return nil
	}
	got, err := affinity()
	if err != nil {
		return err
	}
	if !slices.Equal(got, c.spec.CPUs) {
		return fmt.Errorf("the affinity mask is %v: want %v", got, c.spec.CPUs)
	}
	return nil
}

// coherence measures the coherence mode between the first two of the workers'
// processors; nil with one worker or one processor.
func (c *child) coherence() *float64 {
	cpus := c.spec.CPUs
	if len(c.spec.PinCPUs) > 0 {
		cpus = c.spec.PinCPUs[:min(len(c.spec.PinCPUs), c.spec.Workers)]
	}
	if c.spec.Workers < 2 || c.spec.Procs < 2 || len(cpus) < 2 || cpus[0] == cpus[1] {
		return nil
	}
	ns, ok := coherence(c.clk, cpus[0], cpus[1])
	if !ok {
		return nil
	}
	return &ns
}

// fail reports a worker's error to the controller.
func (c *child) fail(err error) {
	select {
	case c.failure <- err:
	default:
	}
}

// report sends the record of a repetition. After a hang it blocks: the parent
// asks for the goroutine dump and ends the process.
func (c *child) report(s *results.Sample, err error) int {
	if errors.Is(err, errStopped) {
		return 0
	}
	if s == nil {
		s = c.blank()
	}
	var hang *hangError
	switch {
	case errors.As(err, new(errSkip)):
		s.Outcome, s.Reason = results.OutcomeSkipped, err.Error()
	case errors.As(err, &hang):
		s.Outcome, s.Reason = results.OutcomeHang, err.Error()
	case err != nil:
		s.Outcome, s.Reason = results.OutcomeError, err.Error()
	}
	if c.conn.Send(Message{Type: MsgRecord, Sample: s}) != nil {
		return 1
	}
	if hang != nil {
		<-context.Background().Done()
	}
	return 0
}
