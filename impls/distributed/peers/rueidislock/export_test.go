package rueidislock

import (
	"context"
	"time"

	"lockbench/lock"
)

// Patient is the lock with 5 s instead of 20 ms for an attempt, which a loaded machine
// does not always keep: for tests in which an attempt must have an outcome.
func Patient() lock.Info {
	i := Infos()[0]
	i.Dial = func(ctx context.Context, t lock.Target) (lock.Client, error) { return dial(ctx, t, 5*time.Second) }
	return i
}
