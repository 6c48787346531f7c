package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// proxied is a target behind a proxy, and the same without it.
func proxied(t *testing.T) (*tcpproxy.Proxy, lock.Target, lock.Target) {
	t.Helper()
	direct := target(t)
	p := tcpproxy.New(t, direct.Addrs[0])
	tg := direct
	tg.Addrs, tg.Meter = []string{p.Addr()}, &lock.Meter{}
	return p, tg, direct
}

// A grant whose reply comes after the caller has left does not stay.
func TestLateGrant(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, other := leaser(t, name, tg), leaser(t, name, direct)
		mustRelease(t, mustAcquire(t, cl, "k", options))
		p.HoldReplies(true)
		ctx, leave := context.WithCancel(context.Background())
		r := acquiring(ctx, cl, "k", options)
		p.AwaitHeld(1)
		leave()
		wantErr(t, got(t, r).err, context.Canceled, lock.ErrUnknown)
		p.HoldReplies(false)
		mustRelease(t, mustAcquire(t, other, "k", options))
		orphans(t, tg.Meter, 1)
		observe(t, direct).await(0, locked)
	})
}

// The reply to COMMIT is lost: unknown, and the write is there.
func TestLostCommitReply(t *testing.T) {
	each(t, guardeds, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, other := leaser(t, name, tg), dial(t, name, direct)
		le := mustAcquire(t, cl, "k", options)
		if err := le.(lock.Guarded).Apply(bounded(t), 1); err != nil {
			t.Fatal(err)
		}
		p.HoldReplies(true)
		done := make(chan error, 1)
		go func() { done <- le.Release(bounded(t)) }()
		p.AwaitHeld(1)
		p.Cut()
		p.HoldReplies(false)
		wantErr(t, <-done, lock.ErrUnknown)
		if v := value(t, other, "k"); v != 1 {
			t.Errorf("value %d, want 1", v)
		}
	})
}

// Cut connections before the commit: nothing is written, and the holder knows.
func TestCutHolder(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, other := leaser(t, name, tg), dial(t, name, direct)
		le := mustAcquire(t, cl, "k", options)
		if g, ok := le.(lock.Guarded); ok {
			if err := g.Apply(bounded(t), 1); err != nil {
				t.Fatal(err)
			}
		}
		p.Cut()
		awaitLost(t, le)
		wantErr(t, le.Release(bounded(t)), lock.ErrNotHeld)
		mustRelease(t, mustAcquire(t, other.(lock.Leaser), "k", options))
		mustRelease(t, mustAcquire(t, cl, "k", options)) // the client goes on
		if _, ok := other.(lock.Valuer); ok && value(t, other, "k") != 0 {
			t.Errorf("value %d, want 0", value(t, other, "k"))
		}
	})
}

// With connections cut at any time, the value is that of the acknowledged commits,
// and of some of those whose outcome is unknown.
func TestGuardedUnderCuts(t *testing.T) {
	const workers, wanted, cuts = 4, 120, 8
	each(t, guardeds, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl := leaser(t, name, tg)
		var acked, unknown atomic.Int64
		step := make(chan struct{}, 1)
		ctx := bounded(t)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for acked.Load() < wanted && ctx.Err() == nil {
					le, err := cl.Acquire(ctx, "k", options)
					if err != nil {
						continue
					}
					applied := le.(lock.Guarded).Apply(ctx, 1) == nil
					err = le.Release(ctx)
					switch {
					case !applied && err == nil:
						t.Error("released well after a write that failed")
					case err == nil:
						acked.Add(1)
					case errors.Is(err, lock.ErrUnknown) && applied:
						unknown.Add(1)
					}
					select {
					case step <- struct{}{}:
					default:
					}
				}
			})
		}
		for range cuts {
			<-step
			p.Cut()
		}
		wg.Wait()
		if ctx.Err() != nil {
			t.Fatal("it did not get on")
		}
		o := observe(t, direct)
		o.await(0, locked)
		v, lo := value(t, dial(t, name, direct), "k"), acked.Load()
		if v < lo || v > lo+unknown.Load() {
			t.Errorf("value %d, acknowledged %d, unknown %d", v, lo, unknown.Load())
		}
	})
}

// Close returns, and frees what was held, though the server does not answer.
func TestCloseWithoutServer(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, err := info(t, name).Dial(bounded(t), tg)
		if err != nil {
			t.Fatal(err)
		}
		l, o := cl.(lock.Leaser), observe(t, direct)
		le := mustAcquire(t, l, "k", options)
		r := acquiring(context.Background(), l, "k", options)
		if name != "pg-row-nowait" && name != "pg-row-skip" {
			o.await(1, waiting)
		}
		p.Hold(true)
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
		if got(t, r).err == nil {
			t.Error("acquired from a closed client")
		}
		awaitLost(t, le)
		p.Hold(false)
		o.await(0, anything)
	})
}

// Nothing of a client is left on the server after Close.
func TestNothingLeft(t *testing.T) {
	tg := target(t)
	o := observe(t, tg)
	for _, in := range Infos() {
		c, err := in.Dial(bounded(t), tg)
		if err != nil {
			t.Fatal(err)
		}
		if n := o.count(anything); n < tg.Workers {
			t.Errorf("%s: %d connections named %s, want %d at least", in.Name, n, o.app, tg.Workers)
		}
		if l, ok := c.(lock.Leaser); ok {
			mustAcquire(t, l, "k", options) // and never released
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		o.await(0, anything)
	}
}

// A server that dies and comes back: the holder is told, and the client goes on.
func TestServerDies(t *testing.T) {
	c := backendtest.Fresh(t, "postgres")
	tg, _ := backendtest.Fill(c)
	tg.Meter, tg.Workers = &lock.Meter{}, 2
	var held []lock.Lease
	var ls []lock.Leaser
	for _, name := range leasers {
		l := leaser(t, name, tg)
		ls, held = append(ls, l), append(held, mustAcquire(t, l, name, options))
	}
	if err := c.Nodes()[0].Restart(bounded(t)); err != nil {
		t.Fatal(err)
	}
	for i, le := range held {
		awaitLost(t, le)
		wantErr(t, le.Release(bounded(t)), lock.ErrNotHeld)
		mustRelease(t, mustAcquire(t, ls[i], leasers[i], options))
	}
}

// Tables are made by whoever comes first, even if many come at a time.
func TestDialTogether(t *testing.T) {
	tg := target(t)
	tg.Workers = 1
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			c, err := info(t, "pg-row").Dial(bounded(t), tg)
			if err != nil {
				t.Error(err)
				return
			}
			if err := c.(lock.Preparer).Prepare(bounded(t), []string{"a", "b"}); err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// refuser is a server that refuses everybody, in the way that a wrong password is
// refused: PostgreSQL's default is to trust loopback.
func refuser(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = ln.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b := pgproto3.NewBackend(c, c)
			if _, err := b.ReceiveStartupMessage(); err == nil {
				b.Send(&pgproto3.AuthenticationCleartextPassword{})
				_ = b.Flush()
				_, _ = b.Receive()
				b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"})
				_ = b.Flush()
			}
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

func TestDialErrors(t *testing.T) {
	good, refusing := target(t), refuser(t)
	for _, c := range []struct {
		name, want string
		change     func(*lock.Target)
	}{
		{"wrong password", "check the user and the password", func(t *lock.Target) { t.Addrs = []string{refusing} }},
		{"nobody listens", "connect to PostgreSQL", func(t *lock.Target) { t.Addrs = []string{"127.0.0.1:1"} }},
		{"two servers", "2 addresses", func(t *lock.Target) { t.Addrs = append(t.Addrs, t.Addrs...) }},
		{"no port", "address", func(t *lock.Target) { t.Addrs = []string{"localhost"} }},
		{"bad prefix", "prefix", func(t *lock.Target) { t.Prefix = "lockbench" }},
		{"long prefix", "63", func(t *lock.Target) { t.Prefix = "lockbench/" + strings.Repeat("x", 60) + "/t/" }},
		{"no such database", "does not exist", func(t *lock.Target) { t.Database = "nowhere" }},
		{"no certificate", "certificate authority", func(t *lock.Target) { t.TLS = &lock.TLS{CAFile: "/nowhere/ca.pem"} }},
		{"no TLS there", "TLS", func(t *lock.Target) { t.TLS = &lock.TLS{Insecure: true} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range Infos() {
				tg := good
				tg.Addrs = append([]string(nil), good.Addrs...)
				c.change(&tg)
				_, err := in.Dial(bounded(t), tg)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: error %v, want one that says %q", in.Name, err, c.want)
				}
				if err != nil && strings.Contains(err.Error(), tg.Password) {
					t.Errorf("%s: the error holds the password", in.Name)
				}
			}
		})
	}
}
