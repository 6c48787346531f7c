package cell

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
	"lockbench/results"
	"lockbench/workloads"
)

// Locks of these tests.

type muHandle struct{ mu *sync.Mutex }

func (h *muHandle) Lock()         { h.mu.Lock() }
func (h *muHandle) Unlock()       { h.mu.Unlock() }
func (h *muHandle) TryLock() bool { return h.mu.TryLock() }

type makeLock func(*lock.Worker) lock.Handle

func (f makeLock) NewHandle(w *lock.Worker) lock.Handle { return f(w) }

func mutexInfo() lock.Info {
	return lock.Info{Name: "mu", Family: "test", Source: "test", New: func(int) (lock.Lock, error) {
		mu := new(sync.Mutex)
		return makeLock(func(*lock.Worker) lock.Handle { return &muHandle{mu} }), nil
	}}
}

// openHandle admits everybody.
type openHandle struct{}

func (openHandle) Lock()   { runtime.Gosched() }
func (openHandle) Unlock() {}

// stuckHandle admits nobody after a while; it blocks, so that the test process
// is not left with spinning goroutines.
type stuckHandle struct {
	left *atomic.Int64
}

func (h stuckHandle) Lock() {
	if h.left.Add(-1) < 0 {
		select {}
	}
}
func (h stuckHandle) Unlock() {}

func lookupOf(infos ...lock.Info) Lookup {
	return func(name string) (lock.Info, error) {
		for _, i := range infos {
			if i.Name == name {
				return i, nil
			}
		}
		return lock.Info{}, fmt.Errorf("unknown lock %q", name)
	}
}

func info(name string, control bool, h func() lock.Handle) lock.Info {
	return lock.Info{Name: name, Family: "test", Source: "test", Control: control, New: func(int) (lock.Lock, error) {
		return makeLock(func(*lock.Worker) lock.Handle { return h() }), nil
	}}
}

func baseSpec(name string, workers int) *Spec {
	return &Spec{
		Cell: name + "/test", Lock: name, Load: workloads.Load{Name: "test", Locks: 1, Section: workloads.Lengths{Kind: "fixed", A: 20}},
		Workers: workers, Procs: runtime.GOMAXPROCS(0), Pin: "none", Dispatch: DispatchInterface, Seed: 7,
		UnitNS: 1.5, WarmupNS: 2e6, DurationNS: 20e6, ProbeNS: 10e6, Every: 8, TimeoutNS: 60e9,
		Clock: clock.Clock{Kind: clock.KindMonotonic, HZ: 1e9}, Clients: 1,
	}
}

// play runs a child against a scripted parent and returns its messages.
func play(t *testing.T, lookup Lookup, first Message, goes bool) (msgs []Message, code int) {
	t.Helper()
	toChild, parentOut := io.Pipe()
	parentIn, fromChild := io.Pipe()
	exit := make(chan int, 2)
	go func() {
		exit <- Main(lookup, "test", toChild, fromChild, func(c int) { exit <- c })
		fromChild.Close()
	}()
	conn := NewConn(parentIn, parentOut)
	if err := conn.Send(first); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := conn.Receive()
		if err != nil {
			break
		}
		msgs = append(msgs, m)
		if m.Type == MsgReady && goes {
			if err := conn.Send(Message{Type: MsgGo}); err != nil {
				t.Fatal(err)
			}
		}
		if m.Type == MsgRecord {
			break
		}
	}
	parentOut.Close()
	return msgs, <-exit
}

func sampleOf(t *testing.T, spec *Spec, infos ...lock.Info) *results.Sample {
	t.Helper()
	msgs, _ := play(t, lookupOf(infos...), Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: spec}, true)
	if len(msgs) == 0 || msgs[len(msgs)-1].Type != MsgRecord {
		t.Fatalf("no record in %+v", msgs)
	}
	return msgs[len(msgs)-1].Sample
}

func TestRecordAddsUp(t *testing.T) {
	s := sampleOf(t, baseSpec("mu", 2), mutexInfo())
	if s.Outcome != results.OutcomeOK {
		t.Fatalf("outcome %s: %s", s.Outcome, s.Reason)
	}
	if err := s.Validate(); err != nil {
		t.Errorf("invalid record: %v", err)
	}
	var sum int64
	for _, n := range s.PerWorkerOps {
		sum += n
	}
	if sum != s.Ops || s.Ops == 0 {
		t.Errorf("per worker %v, together %d, ops %d", s.PerWorkerOps, sum, s.Ops)
	}
	if want := float64(s.Ops) / float64(s.ElapsedNS) * 1e9; math.Abs(s.ThroughputOps/want-1) > 1e-9 {
		t.Errorf("throughput %v, ops / elapsed = %v", s.ThroughputOps, want)
	}
	if s.ElapsedNS < 20e6 || s.ProbeElapsedNS < 10e6 || s.WarmupNS < 2e6 {
		t.Errorf("an interval is shorter than asked: %d, %d, %d", s.WarmupNS, s.ElapsedNS, s.ProbeElapsedNS)
	}
	if s.Acquire == nil || s.Acquire.Count == 0 || s.SectionMeasuredNS == nil {
		t.Error("no latencies")
	}
	if s.Fairness.Jain == nil || s.Fairness.MTTRMedian == nil {
		t.Errorf("fairness %+v", s.Fairness)
	}
	// One reading a batch of some 50 us. The race detector makes operations slow.
	if s.ClockReads*20 > s.Ops && !raceOn {
		t.Errorf("%d clock readings for %d operations", s.ClockReads, s.Ops)
	}
}

func TestControlIsNotJudged(t *testing.T) {
	s := sampleOf(t, baseSpec("open", 2), info("open", true, func() lock.Handle { return openHandle{} }))
	if s.Outcome != results.OutcomeOK || s.Violations != 0 || s.Ops == 0 {
		t.Errorf("outcome %s (%s), %d violations, %d ops", s.Outcome, s.Reason, s.Violations, s.Ops)
	}
	if s.Fairness.LWSSMedian != nil || s.ContendedPct != nil {
		t.Error("a Control has an order or contention")
	}
}

func TestViolationIsFound(t *testing.T) {
	if raceOn {
		t.Skip("the race detector would end the test at what it is to show")
	}
	spec := baseSpec("open", 2)
	spec.Load.Section.A = 2000
	s := sampleOf(t, spec, info("open", false, func() lock.Handle { return openHandle{} }))
	if s.Outcome != results.OutcomeViolation || s.Violations == 0 || !strings.Contains(s.Reason, "exclusion") {
		t.Errorf("outcome %s (%s), %d violations", s.Outcome, s.Reason, s.Violations)
	}
}

// TestOneWorkerIsNoExcuse: with one worker a lock that does nothing is found by
// the staged meeting, and right locks pass it.
func TestOneWorkerIsNoExcuse(t *testing.T) {
	s := sampleOf(t, baseSpec("open", 1), info("open", false, func() lock.Handle { return openHandle{} }))
	if s.Outcome != results.OutcomeViolation || !strings.Contains(s.Reason, "staged") {
		t.Errorf("a lock that does nothing: outcome %s (%s)", s.Outcome, s.Reason)
	}
	if s := sampleOf(t, baseSpec("mu", 1), mutexInfo()); s.Outcome != results.OutcomeOK {
		t.Errorf("sync.Mutex: outcome %s (%s)", s.Outcome, s.Reason)
	}
}

func TestHang(t *testing.T) {
	spec := baseSpec("stuck", 2)
	spec.TimeoutNS = int64(300 * time.Millisecond)
	var left atomic.Int64
	left.Store(50)
	msgs, _ := playHang(t, spec, info("stuck", true, func() lock.Handle { return stuckHandle{&left} }))
	last := msgs[len(msgs)-1]
	if last.Type != MsgRecord || last.Sample.Outcome != results.OutcomeHang || !strings.Contains(last.Sample.Reason, "no worker progressed") {
		t.Errorf("last message %+v", last)
	}
}

// playHang is play for a child that blocks after its record.
func playHang(t *testing.T, spec *Spec, i lock.Info) ([]Message, int) {
	t.Helper()
	exit := make(chan struct{})
	var msgs []Message
	toChild, parentOut := io.Pipe()
	parentIn, fromChild := io.Pipe()
	go Main(lookupOf(i), "test", toChild, fromChild, func(int) { close(exit) })
	conn := NewConn(parentIn, parentOut)
	if err := conn.Send(Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := conn.Receive()
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, m)
		if m.Type == MsgReady {
			if err := conn.Send(Message{Type: MsgGo}); err != nil {
				t.Fatal(err)
			}
		}
		if m.Type == MsgRecord {
			break
		}
	}
	parentOut.Close()
	<-exit // the parent's end ends the child
	return msgs, 0
}

func TestRefusals(t *testing.T) {
	other := baseSpec("mu", 1)
	other.Procs = runtime.GOMAXPROCS(0) + 1
	unknown := baseSpec("nope", 1)
	bad := baseSpec("mu", 0)
	for _, c := range []struct {
		name string
		m    Message
		want string
	}{
		{"other protocol", Message{Type: MsgSpec, Protocol: 99, Spec: baseSpec("mu", 1)}, "cell protocol 99"},
		{"no spec first", Message{Type: MsgGo}, "first message"},
		{"unknown lock", Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: unknown}, "unknown lock"},
		{"no workers", Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: bad}, "workers 0"},
		{"other GOMAXPROCS", Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: other}, "GOMAXPROCS"},
	} {
		msgs, _ := play(t, lookupOf(mutexInfo()), c.m, true)
		if len(msgs) != 1 || msgs[0].Type != MsgRecord || msgs[0].Sample.Outcome != results.OutcomeError || !strings.Contains(msgs[0].Sample.Reason, c.want) {
			t.Errorf("%s: %+v, want one error record with %q", c.name, msgs, c.want)
		}
	}
}

func TestStopBeforeGo(t *testing.T) {
	toChild, parentOut := io.Pipe()
	parentIn, fromChild := io.Pipe()
	exit := make(chan int, 2)
	go func() {
		exit <- Main(lookupOf(mutexInfo()), "test", toChild, fromChild, func(c int) { exit <- c })
		fromChild.Close()
	}()
	conn := NewConn(parentIn, parentOut)
	if err := conn.Send(Message{Type: MsgSpec, Protocol: ProtocolMajor, Spec: baseSpec("mu", 1)}); err != nil {
		t.Fatal(err)
	}
	if m, err := conn.Receive(); err != nil || m.Type != MsgReady {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := conn.Send(Message{Type: MsgStop}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after stop: %v, want the end of the stream", err)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestFixedWork(t *testing.T) {
	spec := baseSpec("mu", 3)
	spec.Ops, spec.DurationNS, spec.ProbeNS = 1000, 0, 0
	s := sampleOf(t, spec, mutexInfo())
	if s.Ops != 1000 || s.ProbeOps != 1000 {
		t.Errorf("%d and %d operations, want 1000", s.Ops, s.ProbeOps)
	}
	for i, n := range s.PerWorkerOps {
		if n != 334 && n != 333 {
			t.Errorf("worker %d did %d", i, n)
		}
		if s.PerWorkerNS[i] > s.ElapsedNS || s.PerWorkerNS[i] <= 0 {
			t.Errorf("worker %d was done after %d of %d ns", i, s.PerWorkerNS[i], s.ElapsedNS)
		}
	}
}

func TestPhases(t *testing.T) {
	spec := baseSpec("mu", 4)
	spec.DurationNS = 40e6
	spec.Load.Phases = []workloads.Phase{{ActivePct: 25, Share: 1}, {ActivePct: 100, Share: 2}, {ActivePct: 25, Share: 1}}
	s := sampleOf(t, spec, mutexInfo())
	if len(s.Phases) != 3 || s.Phases[0].Workers != 1 || s.Phases[1].Workers != 4 || s.Phases[2].Workers != 1 {
		t.Fatalf("phases %+v", s.Phases)
	}
	var ops, ns int64
	for _, p := range s.Phases {
		ops += p.Ops
		ns += p.ElapsedNS
		if p.Ops == 0 {
			t.Errorf("an empty phase: %+v", s.Phases)
		}
	}
	if ops != s.Ops || math.Abs(float64(ns-s.ElapsedNS)) > 10 {
		t.Errorf("phases: %d ops in %d ns, whole: %d in %d", ops, ns, s.Ops, s.ElapsedNS)
	}
}

func TestMixes(t *testing.T) {
	spec := baseSpec("mu", 2)
	spec.Load.Locks, spec.Load.Zipf, spec.Load.TryPct, spec.Load.ReadPct = 4, 1.1, 30, 20
	s := sampleOf(t, spec, mutexInfo())
	if s.Outcome != results.OutcomeOK || s.Ops == 0 {
		t.Fatalf("outcome %s: %s", s.Outcome, s.Reason)
	}
	if s.RW != "exclusive" || s.ReadOps == 0 || s.ReadOps >= s.Ops {
		t.Errorf("rw %q, %d reads of %d", s.RW, s.ReadOps, s.Ops)
	}
	if share := float64(s.ReadOps) / float64(s.Ops+s.TryFailed); math.Abs(share-0.2) > 0.05 {
		t.Errorf("%.1f %% reads, want 20 %%", 100*share)
	}
}

func TestOpenLoop(t *testing.T) {
	spec := baseSpec("mu", 2)
	spec.DurationNS, spec.ProbeNS = 50e6, 50e6
	spec.Load.Arrivals, spec.Load.RateOps = "constant", 20_000
	s := sampleOf(t, spec, mutexInfo())
	if s.Outcome != results.OutcomeOK || s.OfferedOps != 20_000 {
		t.Fatalf("outcome %s: %s, offered %v", s.Outcome, s.Reason, s.OfferedOps)
	}
	// What was planned in the warm-up may be served late.
	if want := 20_000 * float64(s.WarmupNS+s.ElapsedNS) / 1e9; float64(s.Ops) > want+3 {
		t.Errorf("%d operations, but only %.0f arrivals were planned", s.Ops, want)
	}
	// Too fast for any lock: what was not served waits, and counts.
	spec.Load.RateOps = 500e6
	s = sampleOf(t, spec, mutexInfo())
	if s.BacklogOps == 0 || s.Acquire.Max < 1e6 {
		t.Errorf("backlog %d, longest wait %d ns", s.BacklogOps, s.Acquire.Max)
	}
	if !hasFlag(s, results.FlagBacklog) {
		t.Errorf("flags %v", s.Flags)
	}
}

func hasFlag(s *results.Sample, word string) bool {
	for _, f := range s.Flags {
		if strings.HasPrefix(f, word) {
			return true
		}
	}
	return false
}

func TestOrderFigures(t *testing.T) {
	alternate := func(n, workers int) []byte {
		o := make([]byte, n)
		for i := range o {
			o[i] = byte(i%workers) + 1
		}
		return o
	}
	runs := func(n, length int) []byte {
		o := make([]byte, n)
		for i := range o {
			o[i] = byte(i/length%2) + 1
		}
		return o
	}
	for _, c := range []struct {
		name       string
		order      []byte
		lwss, mttr float64
	}{
		{"round robin of 3", alternate(9000, 3), 3, 3},
		{"one worker", alternate(5000, 1), 1, 1},
		{"long runs of two", runs(8000, 2000), 1, 1},
	} {
		if v, ok := lwss(c.order); !ok || v != c.lwss {
			t.Errorf("%s: LWSS %v %v, want %v", c.name, v, ok, c.lwss)
		}
		if v, ok := mttr(c.order); !ok || v != c.mttr {
			t.Errorf("%s: MTTR %v %v, want %v", c.name, v, ok, c.mttr)
		}
	}
	if _, ok := lwss(alternate(999, 2)); ok {
		t.Error("LWSS of less than a window")
	}
	if _, ok := mttr([]byte{1, 2, 3}); ok {
		t.Error("MTTR without a return")
	}
}

func TestCoherence(t *testing.T) {
	if runtime.NumCPU() < 2 || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor")
	}
	cpus := []int{0, 1}
	if got, err := affinity(); err == nil {
		if len(got) < 2 {
			t.Skip("one processor allowed")
		}
		cpus = got
	}
	clk := clock.Calibrate(false, time.Millisecond)
	if ns, ok := coherence(clk, cpus[0], cpus[1]); ok && !(ns > 1 && ns < 1e6) {
		t.Errorf("moving a line takes %v ns", ns)
	}
}

func TestIntervalShares(t *testing.T) {
	iv := &interval{workers: make([]*worker, 3), quota: 10}
	if a, b, c := iv.share(0), iv.share(1), iv.share(2); a != 4 || b != 3 || c != 3 {
		t.Errorf("shares %d %d %d", a, b, c)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"type":"spec","protocol":1,"spec":{"lock":"mu","workers":1}}`, `{"type":"go","at_ns":5}`, `{"type":"record"}`,
		`{"type":"event","event":{"kind":"hang"}}`, `{`, `null`, `[]`, `{"type":1}`, "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		if m.Type == "" {
			t.Error("a message without a type")
		}
		if m.Spec != nil && m.Spec.Validate() == nil {
			// A valid spec's tables can be made.
			m.Spec.Load.Tables(0, m.Spec.Workers, m.Spec.Seed)
		}
	})
}

// TestReadHeap: the counters count objects of all sizes and collections.
func TestReadHeap(t *testing.T) {
	before := readHeap()
	const n = 1000
	tiny, large := make([]*byte, n), make([][]byte, n)
	for i := range n {
		tiny[i], large[i] = new(byte), make([]byte, 4096)
	}
	runtime.GC()
	after := readHeap()
	if got := after.mallocs - before.mallocs; got < 2*n {
		t.Errorf("%d objects were allocated: %d are counted", 2*n, got)
	}
	if after.collections <= before.collections {
		t.Errorf("a collection is not counted: %d, then %d", before.collections, after.collections)
	}
	runtime.KeepAlive(tiny)
	runtime.KeepAlive(large)
}
