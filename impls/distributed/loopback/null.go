package loopback

import (
	"context"
	"fmt"
	"time"

	"lockbench/lock"
)

// null grants everything at once, without asking anybody: what it takes is what
// the harness itself costs.
type null struct{}

var (
	_ lock.Leaser = null{}
	_ lock.Lease  = null{}
)

func nullInfo() lock.Info {
	return lock.Info{Name: "null-lease", Family: Family, Kind: lock.KindLease, Control: true,
		Doc:    "control: locks nothing and asks no server; what the harness itself costs",
		Source: "the harness's own cost, as null is for in-process locks",
		Remote: &lock.Remote{Waits: "never", Note: "no lock at all", Services: []string{lock.ServiceLoopback, lock.ServiceRedis,
			lock.ServiceRedlock, lock.ServiceEtcd, lock.ServiceZooKeeper, lock.ServicePostgres}},
		Dial: func(context.Context, lock.Target) (lock.Client, error) { return null{}, nil },
	}
}

func (null) Acquire(ctx context.Context, key string, _ lock.AcquireOptions) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %s: %w: %w", key, lock.ErrNotAcquired, err)
	}
	return null{}, nil
}

func (null) Close() error                  { return nil }
func (null) Release(context.Context) error { return nil }

// Lost implements lock.Lease: a receive from nil waits for ever.
func (null) Lost() <-chan struct{}         { return nil }
func (null) ValidUntil() (time.Time, bool) { return time.Time{}, false }
func (null) Token() (uint64, bool)         { return 0, false }
