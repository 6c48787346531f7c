package actor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/lock"
)

// Hanging up ends what is under way, gives up claims, and tells it before EvClosed; then all begins anew.
func TestHangup(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-perfect"), w.Path(), nil) // whose leases end with the connection
	for range 3 {
		r.dial(s.Addr())
		r.enter(acquire(0))
		writes := r.do(work(0, Careful))
		r.awaitID(writes, EvWrote)
		c := acquire(1)
		c.Key, c.Slot = "other", 1
		r.enter(c)
		c = work(1, Careful)
		c.Point = PointWrite
		stands := r.do(c)
		r.awaitID(stands, EvPoint)
		waits := r.do(acquire(2))
		r.awaitID(waits, EvRequested)
		probe := acquire(3)
		probe.Do, probe.Key = DoProbe, "probe"
		probes := r.do(probe)
		r.awaitID(probes, EvProbed)
		id := r.do(Command{Do: DoHangup})
		again := r.do(Command{Do: DoDial, Target: target(s.Addr())}) // at once
		closed, at := r.seek(0, func(e Event) bool { return e.ID == id && e.Ev == EvClosed })
		if closed.Class != "" {
			t.Errorf("closed: got %+v", closed)
		}
		r.awaitID(again, EvDialled)
		for _, x := range []struct {
			id   int
			kind string
		}{{writes, EvStopped}, {stands, EvStopped}, {waits, EvRefused}, {probes, EvStopped}} {
			e, i := r.seek(0, func(e Event) bool { return e.ID == x.id && e.Ev == x.kind })
			if e.Class != ClassCanceled || i > at {
				t.Errorf("%s: got %+v as event %d, closed is event %d", x.kind, e, i, at)
			}
		}
		left := 0
		for i, e := range r.log {
			if e.Ev == EvLeft {
				left++
				if i < at {
					continue
				}
				t.Errorf("event %d, after %d: got %+v", i, at, e)
			}
		}
		if left%2 != 0 || r.arena.Busy(0) || r.arena.Busy(1) {
			t.Errorf("%d claims given up; they stand: %v, %v", left, r.arena.Busy(0), r.arena.Busy(1))
		}
		r.awaitID(r.do(Command{Do: DoHangup}), EvClosed)
		r.awaitID(r.do(Command{Do: DoHangup}), EvClosed) // without a connection
	}
	if n := r.count(EvLeft); n != 6 {
		t.Errorf("left %d times, want 6", n)
	}
}

// A lock that does not return, and a client that does not close, do not keep hanging up; what comes late
// claims nothing and is given back.
func TestHangupOfAStuckClient(t *testing.T) {
	for _, x := range []struct {
		name       string
		closeTakes time.Duration
		returns    time.Duration // after the acquisition began
		class      string
		took       time.Duration
	}{
		{"all well", 0, 0, "", 0},
		{"the lock returns in time", 0, time.Second, "", time.Second},
		{"the lock returns while the client closes", 2 * time.Second, 4 * time.Second, "", CloseLimit/2 + 2*time.Second},
		{"the lock returns late", 0, time.Minute, ClassTimeout, CloseLimit},
		{"the client closes late", time.Minute, 0, ClassTimeout, CloseLimit},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLease(time.Time{})
				l.released = []error{nil}
				var closes atomic.Int32
				f := &fake{close: func() error {
					if closes.Add(1) == 1 {
						time.Sleep(x.closeTakes)
					}
					return nil
				}}
				f.acquire = func(ctx context.Context, _ lock.AcquireOptions) (lock.Lease, error) {
					if x.returns == 0 {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					time.Sleep(x.returns)
					return l, nil
				}
				r := fakeRig(t, f, &fakeStores{})
				id := r.do(acquire(0))
				r.awaitID(id, EvRequested)
				began := time.Now()
				e := r.awaitID(r.do(Command{Do: DoHangup}), EvClosed)
				if took := time.Since(began); e.Class != x.class || took != x.took {
					t.Errorf("closed: got %+v after %v, want %q after %v", e, took, x.class, x.took)
				}
				r.dial("nowhere") // begins at once, whatever is still stuck
				seen := len(r.kinds(0))
				time.Sleep(2 * time.Minute)
				if now := len(r.kinds(0)); now != seen {
					t.Errorf("told afterwards: %q", r.kinds(0)[seen:])
				}
				l.mu.Lock()
				n := l.releases
				l.mu.Unlock()
				if x.returns > CloseLimit/2 && n != 1 {
					t.Errorf("the late grant was released %d times", n)
				}
				if r.arena.Busy(0) {
					t.Error("a claim stands")
				}
			})
		})
	}
}

// Hundreds of rounds in one process leave nothing behind.
func TestRounds(t *testing.T) {
	s, w := server(t), witnessOf(t)
	r := start(t, control(t, "control-perfect"), w.Path(), nil)
	round := func() {
		r.dial(s.Addr())
		r.enter(acquire(0))
		waits := r.do(acquire(1))
		writes := r.do(work(0, Careful))
		r.awaitID(writes, EvWrote)
		r.awaitID(waits, EvRequested)
		r.do(Command{Do: DoFinish})
		r.do(Command{Do: DoRelease})
		r.awaitID(waits, EvEntered)
		r.do(work(1, Careless))
		probe := acquire(2)
		probe.Do, probe.Key = DoProbe, "probe"
		r.awaitID(r.do(probe), EvProbed)
		r.awaitID(r.do(Command{Do: DoHangup}), EvClosed)
		w.Forget("k")
		s.Clean("")
		r.mu.Lock()
		r.log = nil
		r.mu.Unlock()
	}
	const warm, rounds = 10, 200
	for range warm {
		round()
	}
	goroutines, files, heap := runtime.NumGoroutine(), descriptors(t), allocated()
	for range rounds {
		round()
	}
	// What a round leaves is seen as a multiple of the rounds; what is just ending is a few.
	for end := time.Now().Add(guard); runtime.NumGoroutine() > goroutines+rounds/10 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines+rounds/10 {
		t.Errorf("%d goroutines, %d before %d rounds", n, goroutines, rounds)
	}
	if n := descriptors(t); n > files+rounds/10 {
		t.Errorf("%d descriptors, %d before %d rounds", n, files, rounds)
	}
	if n := allocated(); n > heap+rounds*4096 {
		t.Errorf("%d bytes on the heap, %d before %d rounds", n, heap, rounds)
	}
}

func allocated() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// The end of standard input closes everything, also what is under way.
func TestEnd(t *testing.T) {
	for _, name := range []string{"idle", "dialled", "inside", "hung up"} {
		t.Run(name, func(t *testing.T) {
			s, w := server(t), witnessOf(t)
			r := start(t, control(t, "control-perfect"), w.Path(), nil)
			if name != "idle" {
				r.dial(s.Addr())
			}
			if name == "inside" {
				r.enter(acquire(0))
				r.do(work(0, Careless))
				r.awaitID(r.do(acquire(1)), EvRequested)
			}
			if name == "hung up" {
				r.do(Command{Do: DoHangup})
			}
			if err := r.in.Close(); err != nil {
				t.Fatal(err)
			}
			err := <-r.ended
			r.ended <- err
			if err != nil || r.arena.Busy(0) {
				t.Errorf("got %v, busy %v", err, r.arena.Busy(0))
			}
		})
	}
}

// What is no command ends the process with an error that says why.
func TestMalformed(t *testing.T) {
	_, path := arenaOf(t)
	setup := `{"lock":"control-ttl","arena":"` + path + `"}` + "\n"
	for _, x := range []struct{ name, in, err string }{
		{"nothing", "", "read the setup: EOF"},
		{"no setup", "[]\n", "decode the setup"},
		{"half a setup", `{"lock":"control-ttl"`, "read the setup: unexpected EOF"},
		{"unknown lock", strings.Replace(setup, "control-ttl", "x", 1), "no such lock"},
		{"no arena", `{"lock":"control-ttl","arena":"` + filepath.Join(t.TempDir(), "none") + `"}` + "\n", "open the file of claims"},
		{"no witness", `{"lock":"control-ttl","arena":"` + path + `","witness":"` + filepath.Join(t.TempDir(), "none") + `"}` + "\n", "dial the witness"},
		{"text", setup + "hello\n", "decode a command"},
		{"unknown command", setup + `{"do":"dance"}` + "\n", `"dance" is no command`},
		{"actor", setup + `{"do":"go","actor":4}` + "\n", "actor 4"},
		{"half a command", setup + `{"do":"go"`, "unexpected EOF"},
		{"long", setup + strings.Repeat(" ", MaxLine+1) + "\n", ErrTooLong.Error()},
	} {
		var out strings.Builder
		err := newProcess(&out).run(loopbackLock, strings.NewReader(x.in), func(int) { t.Errorf("%s: closing hangs", x.name) })
		if err == nil || !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: got %v, want an error with %q", x.name, err, x.err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last, derr := DecodeEvent([]byte(lines[len(lines)-1])); derr != nil || last.Ev != EvFailed || last.ID != 0 {
			t.Errorf("%s: the last event is %+v, %v", x.name, last, derr)
		}
	}
}

// An in-process lock has no client.
func TestNotDistributed(t *testing.T) {
	_, path := arenaOf(t)
	err := newProcess(io.Discard).run(func(string) (lock.Info, error) { return lock.Info{Name: "mutex"}, nil },
		strings.NewReader(`{"lock":"mutex","arena":"`+path+`"}`+"\n"), func(int) {})
	if ClassOf(err) != ClassUnsupported {
		t.Errorf("got %v", err)
	}
}

// A parent that reads no more ends the process, also one that waits for commands.
func TestBrokenOutput(t *testing.T) {
	_, path := arenaOf(t)
	from, in := io.Pipe()
	defer in.Close()
	to, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- newProcess(out).run(loopbackLock, from, func(int) {}) }()
	c := NewConn(to, in)
	if err := c.Begin(Setup{Lock: "control-ttl", Arena: path}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); err != nil {
		t.Fatal(err)
	}
	to.Close()
	if err := c.Send(Command{Do: DoHangup}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// Events keep their order whoever writes them; what is left to the queue waits for nobody.
func TestOut(t *testing.T) {
	to, from := io.Pipe()
	o := newOut(from)
	quit := make(chan struct{})
	defer close(quit)
	go o.run(quit)
	for i := range 100 {
		o.later(Event{Ev: EvRenewed, ID: i}) // nobody reads
	}
	written := make(chan struct{})
	go func() {
		o.now(Event{Ev: EvGranted, ID: 100})
		o.later(Event{Ev: EvRenewed, ID: 101})
		close(written)
	}()
	c := NewConn(to, nil)
	for i := range 102 {
		if i < 100 { // its event is not read yet
			select {
			case <-written:
				t.Fatalf("what was to be written at once was not, after %d events", i)
			default:
			}
		}
		e, err := c.Receive()
		if err != nil || e.AtNS == 0 || e.ID != i {
			t.Fatalf("event %d: got %+v, %v", i, e, err)
		}
	}
	<-written
	to.Close()
	o.now(Event{Ev: EvLeft})
	<-o.broken
	o.now(Event{Ev: EvLeft}) // and nothing more
	if !errors.Is(o.err, io.ErrClosedPipe) {
		t.Errorf("got %v", o.err)
	}
}

// A queue that is full makes its users wait for the parent: it does not grow for ever.
func TestOutIsBounded(t *testing.T) {
	to, from := io.Pipe()
	o := newOut(from)
	for i := range maxPending {
		o.later(Event{Ev: EvRenewed, ID: i})
	}
	written := make(chan struct{})
	go func() { o.later(Event{Ev: EvRenewed, ID: maxPending}); close(written) }()
	c := NewConn(to, nil)
	for i := range maxPending + 1 {
		select {
		case <-written:
			t.Fatalf("it did not wait: event %d is not read yet", i)
		default:
		}
		if e, err := c.Receive(); err != nil || e.ID != i {
			t.Fatalf("event %d: got %+v, %v", i, e, err)
		}
	}
	<-written
}
