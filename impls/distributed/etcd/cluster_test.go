package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/lock"
)

// leader returns the number of the member that leads.
func (l *look) leader() int {
	l.t.Helper()
	found := -1
	until(l.t, "a leader", func() bool {
		for i, addr := range l.tg.Addrs {
			ctx, cancel := context.WithTimeout(within(l.t), time.Second)
			r, err := l.Status(ctx, addr)
			cancel()
			if err == nil && r.Leader == r.Header.MemberId {
				found = i
			}
		}
		return found >= 0
	})
	return found
}

// One of three members is paused, the very one that the client asks; be it the leader or not, the
// session is kept for as long as it takes. (A session of the concurrency package was lost in
// 5 of 6 cases.) A waiter whose watch is with that member is granted all the same.
func TestMemberPaused(t *testing.T) {
	tg, nodes := fresh(t, "etcd-3")
	for _, what := range []string{"follower", "leader"} {
		t.Run(what, func(t *testing.T) {
			tg := tg
			tg.TTL = 3 * time.Second
			renewals := int64(12)
			if what == "leader" {
				// Whether an election ends within a short TTL is a matter of luck.
				tg.TTL, renewals = 9*time.Second, 3
			}
			tg.Meter = &lock.Meter{}
			c := connect(t, tg)
			see := looking(t, tg)
			victim := see.leader()
			if what == "follower" {
				victim = (victim + 1) % len(nodes)
			}
			others := *see
			others.tg.Addrs = append(append([]string{}, tg.Addrs[:victim]...), tg.Addrs[victim+1:]...)
			other := connect(t, others.tg)
			c.asking(int32(victim))
			kept := acquire(t, c, "kept", options(tg))
			held := acquire(t, other, "k", options(tg))
			c.asking(int32(victim))
			waiting := start(within(t), c, "k", options(tg))
			looking(t, others.tg).queued("k", 2)
			c.asking(int32(victim))

			if err := nodes[victim].Pause(within(t)); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := nodes[victim].Resume(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			release(t, held)
			r := await(t, "the waiter's grant", waiting)
			if r.err != nil {
				t.Fatal(r.err)
			}
			// Renewals that succeed are T/3 apart.
			for want := tg.Meter.Renewals.Load() + renewals; tg.Meter.Renewals.Load() < want; {
				select {
				case <-kept.Lost():
					t.Fatal("the session was lost")
				case <-time.After(10 * time.Millisecond):
				}
			}
			if err := kept.(lock.Guarded).Apply(within(t), 1); err != nil {
				t.Errorf("write: %v", err)
			}
			release(t, r.l)
			release(t, kept)
		})
	}
}

// The leader is killed: the lock is still held, and nobody else gets it.
func TestLeaderKilled(t *testing.T) {
	tg, nodes := fresh(t, "etcd-3")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)
	held := acquire(t, a, "k", options(tg))
	waiting := start(within(t), b, "k", options(tg))
	see.queued("k", 2)
	victim := see.leader()
	if err := nodes[victim].Kill(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := held.(lock.Guarded).Apply(within(t), 4); err != nil {
		t.Errorf("write: %v", err)
	}
	select {
	case r := <-waiting:
		t.Fatalf("granted to a second one: %v", r.err)
	default:
	}
	release(t, held)
	r := await(t, "the next grant", waiting)
	if r.err != nil {
		t.Fatal(r.err)
	}
	was, _ := held.Token()
	if is, _ := r.l.Token(); is <= was {
		t.Errorf("token %d after %d", is, was)
	}
	release(t, r.l)
	if v := value(t, b, "k"); v != 4 {
		t.Errorf("value: got %d, want 4", v)
	}
	if err := nodes[victim].Restart(within(t)); err != nil {
		t.Fatal(err)
	}
}

// Without a majority the holder is told at its deadline, and an acquisition fails.
func TestQuorumLost(t *testing.T) {
	tg, nodes := fresh(t, "etcd-3")
	tg.DialTimeout = 2 * time.Second
	c := connect(t, tg)
	held := acquire(t, c, "k", options(tg))
	for _, n := range nodes[1:] {
		if err := n.Pause(within(t)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Resume(context.Background()); err != nil {
				t.Error(err)
			}
		}()
	}
	await(t, "the holder's being told", held.Lost())
	if l, err := c.Acquire(within(t), "other", options(tg)); err == nil || l != nil {
		t.Errorf("acquired without a majority: %v, %v", l, err)
	} else {
		wantErr(t, "acquire", err, lock.ErrNotAcquired)
	}
	wantErr(t, "release", held.Release(within(t)), lock.ErrNotHeld)
}

// A user with a password: right, wrong and none.
func TestPassword(t *testing.T) {
	tg, _ := fresh(t, "etcd-1")
	tg.DialTimeout = 5 * time.Second
	see := looking(t, tg)
	const password = "s3cr3t-pass"
	steps := []func(context.Context) error{
		func(ctx context.Context) error { _, err := see.UserAdd(ctx, "root", "r00t"); return err },
		func(ctx context.Context) error { _, err := see.UserGrantRole(ctx, "root", "root"); return err },
		func(ctx context.Context) error { _, err := see.RoleAdd(ctx, "locks"); return err },
		func(ctx context.Context) error {
			_, err := see.RoleGrantPermission(ctx, "locks", tg.Prefix, clientv3.GetPrefixRangeEnd(tg.Prefix), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func(ctx context.Context) error { _, err := see.UserAdd(ctx, "worker", password); return err },
		func(ctx context.Context) error { _, err := see.UserGrantRole(ctx, "worker", "locks"); return err },
		func(ctx context.Context) error { _, err := see.AuthEnable(ctx); return err },
	}
	for i, f := range steps {
		if err := f(within(t)); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	for _, wrong := range []lock.Target{{}, {User: "worker", Password: password + "x"}, {User: "nobody", Password: password}} {
		w := tg
		w.User, w.Password = wrong.User, wrong.Password
		c, err := Dial(within(t), w)
		if err == nil {
			_ = c.Close()
			t.Fatalf("user %q dialled", w.User)
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("the password is in the error: %v", err)
		}
	}
	tg.TTL, tg.User, tg.Password = steady, "worker", password
	a, b := connect(t, tg), connect(t, tg)
	l := acquire(t, a, "k", options(tg))
	waiting := start(within(t), b, "k", options(tg))
	until(t, "the queue's length", func() bool {
		s, _ := a.d.c.current()
		r, err := s.kv.Get(within(t), a.d.queue("k"), clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && r.Count == 2
	})
	release(t, l)
	r := await(t, "the grant", waiting)
	if r.err != nil {
		t.Fatal(r.err)
	}
	release(t, r.l)
	outside := tg
	outside.Prefix = "lockbench/elsewhere/"
	if c, err := Dial(within(t), outside); err == nil {
		_ = c.Close()
		t.Error("dialled for names that the user may not write")
	}
}
