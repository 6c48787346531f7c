package actor

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"lockbench/chaos/witness"
	"lockbench/impls/distributed/loopback"
	"lockbench/internal/claims"
	"lockbench/internal/clock"
	"lockbench/lock"
)

// guard bounds what a test waits for.
const guard = 30 * time.Second

// The test binary is a client process, too: with this variable it is one.
const childEnv = "LOCKBENCH_TEST_ACTOR"

func TestMain(m *testing.M) {
	clock.Shared() // finds its zero here, and not in a bubble of synctest, whose clock is another
	if os.Getenv(childEnv) != "" {
		os.Exit(Main(loopbackLock, os.Stdin, os.Stdout, os.Exit))
	}
	os.Exit(m.Run())
}

func loopbackLock(name string) (lock.Info, error) {
	for _, i := range loopback.Infos() {
		if i.Name == name {
			return i, nil
		}
	}
	return lock.Info{}, errors.New("no such lock")
}

// rig is a process of actors, run by goroutines of the test, and its parent's side.
type rig struct {
	t     testing.TB
	conn  *Conn
	in    *io.PipeWriter
	arena *claims.Arena
	ended chan error

	mu   sync.Mutex
	log  []Event
	more chan struct{}
	id   int
}

func arenaOf(t testing.TB) (*claims.Arena, string) {
	t.Helper()
	a, path, err := claims.Create(t.TempDir(), 4, 2*MaxActors, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, path
}

// start starts a process of a lock. With fake stores the witness is not dialled.
func start(t testing.TB, info lock.Info, socket string, fake stores) *rig {
	t.Helper()
	arena, path := arenaOf(t)
	return startIn(t, info, arena, path, socket, fake)
}

func startIn(t testing.TB, info lock.Info, arena *claims.Arena, path, socket string, fake stores) *rig {
	t.Helper()
	fromParent, in := io.Pipe()
	toParent, out := io.Pipe()
	r := &rig{t: t, conn: NewConn(toParent, in), in: in, arena: arena, ended: make(chan error, 1), more: make(chan struct{})}
	p := newProcess(out)
	p.stores = fake
	read := make(chan struct{})
	go func() {
		err := p.run(func(string) (lock.Info, error) { return info, nil }, fromParent, func(int) { panic("closing hangs") })
		out.Close()
		r.ended <- err
	}()
	go func() { defer close(read); r.read() }()
	t.Cleanup(func() {
		in.Close()
		select {
		case err := <-r.ended:
			if err != nil {
				t.Errorf("the process ended with: %v", err)
			}
		case <-time.After(guard):
			t.Error("the process does not end")
		}
		<-read
	})
	if err := r.conn.Begin(Setup{Lock: info.Name, Arena: path, Witness: socket}); err != nil {
		t.Fatal(err)
	}
	if e := r.await(0, EvReady); e.PID != os.Getpid() {
		t.Errorf("ready: pid %d, want %d", e.PID, os.Getpid())
	}
	return r
}

func (r *rig) read() {
	for {
		e, err := r.conn.Receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.t.Errorf("receive: %v", err)
			}
			return
		}
		r.mu.Lock()
		r.log = append(r.log, e)
		close(r.more)
		r.more = make(chan struct{})
		r.mu.Unlock()
	}
}

// do sends a command and returns its number.
func (r *rig) do(c Command) int {
	r.t.Helper()
	r.id++
	c.ID = r.id
	if err := r.conn.Send(c); err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// await returns the first event of an actor and a kind.
func (r *rig) await(a int, kinds ...string) Event {
	r.t.Helper()
	e, _ := r.seek(0, func(e Event) bool { return e.Actor == a && slices.Contains(kinds, e.Ev) })
	return e
}

// awaitID returns the first event of a command and a kind.
func (r *rig) awaitID(id int, kinds ...string) Event {
	r.t.Helper()
	e, _ := r.seek(0, func(e Event) bool { return e.ID == id && slices.Contains(kinds, e.Ev) })
	return e
}

func (r *rig) seek(from int, ok func(Event) bool) (Event, int) {
	r.t.Helper()
	late := time.NewTimer(guard)
	defer late.Stop()
	for at := from; ; {
		r.mu.Lock()
		log, more := r.log, r.more
		r.mu.Unlock()
		for ; at < len(log); at++ {
			if ok(log[at]) {
				return log[at], at
			}
			if log[at].Ev == EvFailed && log[at].ID == 0 {
				r.t.Fatalf("the process failed: %s", log[at].Text)
			}
		}
		select {
		case <-more:
		case <-late.C:
			r.t.Fatalf("it does not come; there are %+v", log)
		}
	}
}

// kinds are those of an actor's events so far, without those left out.
func (r *rig) kinds(a int, without ...string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.log {
		if e.Actor == a && e.ID > 0 && !slices.Contains(without, e.Ev) {
			out = append(out, e.Ev)
		}
	}
	return out
}

func (r *rig) count(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.log {
		if e.Ev == kind {
			n++
		}
	}
	return n
}

// server is a loopback lock server.
func server(t testing.TB) *loopback.Server {
	t.Helper()
	s, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func witnessOf(t testing.TB) *witness.Server {
	t.Helper()
	// Sockets have short names: the test's own folder may be too long.
	dir, err := os.MkdirTemp("", "lb")
	if err != nil {
		t.Fatal(err)
	}
	w, err := witness.Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return w
}

func control(t testing.TB, name string) lock.Info {
	t.Helper()
	i, err := loopbackLock(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func target(addr string) *lock.Target {
	return &lock.Target{Service: lock.ServiceLoopback, Addrs: []string{addr}, Prefix: "lockbench/test/", TTL: time.Minute, Workers: MaxActors, DialTimeout: 5 * time.Second}
}

// dial connects, and waits.
func (r *rig) dial(addr string) {
	r.t.Helper()
	id := r.do(Command{Do: DoDial, Target: target(addr)})
	if e := r.awaitID(id, EvDialled, EvFailed); e.Ev != EvDialled {
		r.t.Fatalf("dial: %+v", e)
	}
}

func acquire(a int) Command {
	return Command{Do: DoAcquire, Actor: a, Worker: a, Key: "k", Options: lock.AcquireOptions{TTL: time.Minute, Fence: true, Renew: true, Wait: lock.WaitPolicy{Min: 1, Max: 1}}}
}

func work(a int, policy string) Command {
	return Command{Do: DoWork, Actor: a, Policy: policy, EveryNS: int64(time.Millisecond)}
}

// enter acquires, and waits.
func (r *rig) enter(c Command) (granted, entered Event) {
	r.t.Helper()
	id := r.do(c)
	granted = r.awaitID(id, EvGranted, EvRefused, EvFailed)
	if granted.Ev != EvGranted {
		r.t.Fatalf("acquire: %+v", granted)
	}
	return granted, r.awaitID(id, EvEntered)
}

// queued waits until n wait for the key.
func queued(t testing.TB, addr string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	c, err := control(t, "control-ttl").Dial(ctx, *target(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q := c.(interface {
		Queued(context.Context, string) (int, error)
	})
	for have := -1; have != n; time.Sleep(time.Millisecond) {
		if have, err = q.Queued(ctx, "k"); err != nil {
			t.Fatal(err)
		}
	}
}
