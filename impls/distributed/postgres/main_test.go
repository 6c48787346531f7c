package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/backends/backendtest"
	"lockbench/lock"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

// guard is when a test that waits for something gives up. Nothing is measured by it.
const guard = 30 * time.Second

var options = lock.AcquireOptions{TTL: time.Second,
	Wait: lock.WaitPolicy{Min: 500 * time.Microsecond, Max: 5 * time.Millisecond, Jitter: 0.5}}

func with(change func(*lock.AcquireOptions)) lock.AcquireOptions {
	o := options
	change(&o)
	return o
}

func try() lock.AcquireOptions { return with(func(o *lock.AcquireOptions) { o.Try = true }) }

func owner(name string) lock.AcquireOptions {
	return with(func(o *lock.AcquireOptions) { o.Owner = name })
}

// target is a fresh prefix on the shared server, with a meter.
func target(t testing.TB) lock.Target {
	t.Helper()
	tg := backendtest.Target(t, "postgres")
	tg.Meter = &lock.Meter{}
	tg.Workers = 4
	return tg
}

func info(t testing.TB, name string) lock.Info {
	t.Helper()
	for _, in := range Infos() {
		if in.Name == name {
			return in
		}
	}
	t.Fatalf("no lock %s", name)
	return lock.Info{}
}

func dial(t testing.TB, name string, tg lock.Target) lock.Client {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), guard)
	defer end()
	c, err := info(t, name).Dial(ctx, tg)
	if err != nil {
		t.Fatalf("dial %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return c
}

func leaser(t testing.TB, name string, tg lock.Target) lock.Leaser {
	t.Helper()
	return dial(t, name, tg).(lock.Leaser)
}

func bounded(t testing.TB) context.Context {
	ctx, end := context.WithTimeout(context.Background(), guard)
	t.Cleanup(end)
	return ctx
}

func mustAcquire(t testing.TB, l lock.Leaser, key string, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	le, err := l.Acquire(bounded(t), key, o)
	if err != nil {
		t.Fatalf("acquire %s: %v", key, err)
	}
	return le
}

func mustRelease(t testing.TB, le lock.Lease) {
	t.Helper()
	if err := le.Release(bounded(t)); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func wantErr(t testing.TB, err error, wants ...error) {
	t.Helper()
	for _, want := range wants {
		if !errors.Is(err, want) {
			t.Fatalf("error %v, want one that wraps %v", err, want)
		}
	}
}

func awaitLost(t testing.TB, le lock.Lease) {
	t.Helper()
	select {
	case <-le.Lost():
	case <-time.After(guard):
		t.Fatal("the holder was not told")
	}
}

// observer looks at the server from outside.
type observer struct {
	t   testing.TB
	c   *pgx.Conn
	app string
}

func observe(t testing.TB, tg lock.Target) *observer {
	t.Helper()
	cfg, err := configOf(tg, names{schema: "observer"})
	if err != nil {
		t.Fatal(err)
	}
	pc, err := pgx.ParseConfig("host=localhost user=x passfile=/dev/null sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = pc.DialFunc
	pc.Config = *cfg
	c, err := pgx.ConnectConfig(bounded(t), pc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	n, err := namesOf(tg.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	return &observer{t, c, n.schema}
}

// count counts the rows of a query over the backends of the test, named a.
func (o *observer) count(rest string) int {
	o.t.Helper()
	var n int
	q := "SELECT count(*) FROM pg_stat_activity a " + rest + " AND a.application_name = $1"
	if err := o.c.QueryRow(bounded(o.t), q, o.app).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n
}

// await polls, because the server has no event for it.
func (o *observer) await(want int, rest string) {
	o.t.Helper()
	end, have := time.Now().Add(guard), 0
	for time.Now().Before(end) {
		if have = o.count(rest); have == want {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	o.t.Fatalf("%d, want %d: %s", have, want, rest)
}

const (
	waiting  = "WHERE a.wait_event_type = 'Lock'"
	anything = "WHERE true"
	// A backend always holds its own virtual transaction's lock while it runs.
	locked = "JOIN pg_locks l USING (pid) WHERE l.locktype <> 'virtualxid'"
	inTx   = "WHERE a.state LIKE 'idle in transaction%'"
)

// terminate ends the test's backends that meet a condition.
func (o *observer) terminate(where string) {
	o.t.Helper()
	q := "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a " + where + " AND a.application_name = $1"
	var n int
	if err := o.c.QueryRow(bounded(o.t), q, o.app).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	if n == 0 {
		o.t.Fatalf("no backend to terminate: %s", where)
	}
}

// leasers are the locks that grant leases; guardeds those with the protected write.
var (
	leasers  = []string{"pg-advisory", "pg-advisory-xact", "pg-row", "pg-row-nowait", "pg-row-skip"}
	guardeds = leasers[1:]
)

func each(t *testing.T, list []string, f func(t *testing.T, name string)) {
	for _, name := range list {
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

type result struct {
	lease lock.Lease
	err   error
}

// acquiring acquires on a goroutine.
func acquiring(ctx context.Context, l lock.Leaser, key string, o lock.AcquireOptions) <-chan result {
	r := make(chan result, 1)
	go func() {
		le, err := l.Acquire(ctx, key, o)
		r <- result{le, err}
	}()
	return r
}

func got(t testing.TB, r <-chan result) result {
	t.Helper()
	select {
	case x := <-r:
		return x
	case <-time.After(guard):
		t.Fatal("acquire did not return")
		return result{}
	}
}

func value(t testing.TB, c any, key string) int64 {
	t.Helper()
	v, err := c.(lock.Valuer).Value(bounded(t), key)
	if err != nil {
		t.Fatal(fmt.Errorf("value of %s: %w", key, err))
	}
	return v
}
