package chaos

import (
	"context"
	"sync/atomic"
	"time"

	"lockbench/impls/distributed/loopback"
	"lockbench/lock"
)

// Locks with known faults, which the judge must find: what a fence is worth is its tokens.

// plantedLocks are control-ttl with its tokens changed, and locks that grant to everybody.
func plantedLocks() []lock.Info {
	var ttl lock.Info
	for _, i := range loopback.Infos() {
		if i.Name == "control-ttl" {
			ttl = i
		}
	}
	tokens := func(name string, change func(uint64) uint64) lock.Info {
		i, dial := ttl, ttl.Dial
		r := *ttl.Remote
		r.Linearizable = false // so that nothing but the stores can find it
		i.Name, i.Remote = name, &r
		i.Dial = func(ctx context.Context, t lock.Target) (lock.Client, error) {
			c, err := dial(ctx, t)
			if err != nil {
				return nil, err
			}
			return &retoken{c.(lock.Leaser), change}, nil
		}
		return i
	}
	twice := func(name string, fences, linearizable bool) lock.Info {
		i, r := ttl, *ttl.Remote
		r.Renews, r.Fences, r.Linearizable = false, fences, linearizable
		i.Name, i.Remote = name, &r
		i.Dial = func(context.Context, lock.Target) (lock.Client, error) { return grantsAll{fences}, nil }
		return i
	}
	return []lock.Info{
		tokens("planted-same-token", func(uint64) uint64 { return 7 }),
		tokens("planted-falling-tokens", func(t uint64) uint64 { return 1<<20 - t }),
		twice("planted-twice", false, false),
		twice("planted-twice-fenced", true, true),
	}
}

// retoken is a client whose tokens are not those that the server gave.
type retoken struct {
	lock.Leaser
	change func(uint64) uint64
}

func (r *retoken) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (lock.Lease, error) {
	l, err := r.Leaser.Acquire(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &retokened{l, r.change}, nil
}

type retokened struct {
	lock.Lease
	change func(uint64) uint64
}

func (r *retokened) Token() (uint64, bool) {
	t, ok := r.Lease.Token()
	return r.change(t), ok
}

// grantsAll asks nobody, and believes in what it grants for a TTL.
type grantsAll struct{ fences bool }

var counter atomic.Uint64

func (g grantsAll) Acquire(ctx context.Context, _ string, o lock.AcquireOptions) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &believed{until: time.Now().Add(10 * o.TTL), token: counter.Add(1), fences: g.fences}, nil
}

func (grantsAll) Close() error { return nil }

type believed struct {
	until  time.Time
	token  uint64
	fences bool
}

func (*believed) Release(context.Context) error    { return nil }
func (*believed) Lost() <-chan struct{}            { return nil }
func (b *believed) ValidUntil() (time.Time, bool)  { return b.until, true }
func (b *believed) Token() (token uint64, ok bool) { return b.token, b.fences }
