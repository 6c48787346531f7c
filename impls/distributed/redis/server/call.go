package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/lock"
)

// least is the shortest time that a command is given: a collection of garbage, a
// fork for a snapshot or a busy processor take tens of milliseconds, and a command that is
// given up has to be looked after.
const least = 50 * time.Millisecond

// Within is how long a command may take that concerns a lease of some TTL: a sixth,
// as lease.Keeper gives a renewal, so that two can fail before the deadline.
func Within(ttl time.Duration) time.Duration { return max(ttl/6, least) }

// until is a context with a deadline but without a timer of its own: go-redis sets the
// deadline on the connection and does not listen to Done while it waits. A timer would
// cost each command half a microsecond.
type until struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (u until) Deadline() (time.Time, bool) { return u.at, true }

// Do sends a command at a time and waits for its reply, which is in the command then,
// at most until that time + within, or + Within the target's TTL if that is less. It
// returns at once when ctx ends: a request under way is then given up, and its
// connection with it. See Unsent and Refused for what an error means.
func (s *Server) Do(ctx context.Context, sent time.Time, within time.Duration, cmd redis.Cmder) error {
	at := sent.Add(min(within, s.most))
	if ctx.Done() == nil {
		return s.Client.Process(until{ctx, unmarked(at)}, cmd)
	}
	f := s.flights.begin(ctx, at)
	stop := context.AfterFunc(ctx, f.abort)
	err := s.Client.Process(f, cmd)
	stop()
	if cut := s.flights.end(f); cut && err != nil {
		return fmt.Errorf("%w: %w", errCut, ctx.Err())
	}
	return err
}

// Eval runs a script whose reply is an integer: by its hash, or, where the server does
// not know it (it was restarted, or is another one now), by its source.
func (s *Server) Eval(ctx context.Context, sent time.Time, within time.Duration, sc *Script, keysAndArgs ...any) (int64, error) {
	cmd := redis.NewIntCmd(ctx, args(sc.byHash, keysAndArgs)...)
	err := s.Do(ctx, sent, within, cmd)
	if unknownScript(err) {
		cmd = redis.NewIntCmd(ctx, args(sc.bySource, keysAndArgs)...)
		err = s.Do(ctx, sent, within, cmd)
	}
	return cmd.Val(), err
}

// EvalInts is Eval for a script whose reply is a list of integers.
func (s *Server) EvalInts(ctx context.Context, sent time.Time, within time.Duration, sc *Script, keysAndArgs ...any) ([]int64, error) {
	cmd := redis.NewIntSliceCmd(ctx, args(sc.byHash, keysAndArgs)...)
	err := s.Do(ctx, sent, within, cmd)
	if unknownScript(err) {
		cmd = redis.NewIntSliceCmd(ctx, args(sc.bySource, keysAndArgs)...)
		err = s.Do(ctx, sent, within, cmd)
	}
	return cmd.Val(), err
}

func unknownScript(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

// meter counts what is sent, the greetings of new connections included: whoever waits
// for a command waits for them, too.
type meter struct{ m *lock.Meter }

var _ redis.Hook = meter{}

// DialHook implements redis.Hook.
func (meter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (h meter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.m.Command(1)
		lock.TraceOf(ctx).Trip()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h meter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 {
			h.m.Command(int64(len(cmds)))
			lock.TraceOf(ctx).Trip()
		}
		return next(ctx, cmds)
	}
}
