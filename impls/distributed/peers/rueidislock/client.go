package rueidislock

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"lockbench/lock"
)

// op is one acquisition, known to the counted client by the context.
type op struct {
	mu    sync.Mutex
	value string // of the last attempt: each has a random one
	taken bool   // its answer: somebody else has the lock
}

type opKey struct{}

// fresh reports whether a command is the first with that value: an attempt, not an
// extension of it.
func (o *op) fresh(value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.value
	o.value = value
	o.taken = o.taken && was == value
	return was != value
}

// answer notes the answer of the last attempt.
func (o *op) answer(taken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = taken
}

// idle reports whether the last attempt has surely got nothing.
func (o *op) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken
}

// deletion is a release under way.
type deletion struct {
	trace *lock.Trace
	sent  bool
	n     int64 // keys that were deleted
	err   error
}

// counted is the library's client. All that the locker sends are scripts of one key,
// with the value of an attempt as their first argument: EVALSHA hash 1 key value ...
type counted struct {
	rueidis.Client
	mu        sync.Mutex
	deletions map[string]*deletion // by value
}

var _ rueidis.Client = (*counted)(nil)

// argValue is where the value stands in a command.
const argValue = 4

// Do implements rueidis.Client. A script that the server does not know is sent once
// more by its source, which is not counted as a trip of its own.
func (c *counted) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	args := cmd.Commands()
	if len(args) <= argValue {
		return c.Client.Do(ctx, cmd)
	}
	value := args[argValue]
	if o, _ := ctx.Value(opKey{}).(*op); o != nil {
		if !o.fresh(value) {
			return c.Client.Do(ctx, cmd) // nobody waits for an extension
		}
		lock.TraceOf(ctx).Attempt()
		lock.TraceOf(ctx).Trip()
		r := c.Client.Do(ctx, cmd)
		o.answer(rueidis.IsRedisNil(r.Error()))
		return r
	}
	d := c.deletionOf(value)
	if d == nil { // of an attempt that got no answer
		return c.Client.Do(ctx, cmd)
	}
	d.trace.Trip()
	r := c.Client.Do(ctx, cmd)
	d.sent = true
	d.n, d.err = r.AsInt64()
	return r
}

func (c *counted) deletionOf(value string) *deletion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deletions[value]
}

// expect tells that the release of an acquisition follows; done ends that.
func (c *counted) expect(o *op, trace *lock.Trace) (d *deletion, done func()) {
	o.mu.Lock()
	value := o.value
	o.mu.Unlock()
	d = &deletion{trace: trace}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deletions[value] = d
	return d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.deletions, value)
	}
}
