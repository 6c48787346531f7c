package leasertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lockbench/lock"
)

// childEnv says that the process is a client process of the process check.
const childEnv = "LOCKBENCH_LEASERTEST_CLIENT"

// order is what a client process is told, on its standard input, as JSON. It is not
// in the environment, because a target may hold a password.
type order struct {
	Me      int64               `json:"me"` // > 0; its workers are Me*100 and up
	Target  lock.Target         `json:"target"`
	Key     string              `json:"key"`
	Options lock.AcquireOptions `json:"options"`
	Claims  string              `json:"claims"` // the file
	Workers int                 `json:"workers"`
	Limit   time.Duration       `json:"limit_ns"`
	Ops     int64               `json:"ops"`  // of all processes
	Hold    bool                `json:"hold"` // acquire once and never release
}

// mark begins the lines of a client process that are for its parent; the test
// framework writes others.
const mark = "@leasertest "

func say(format string, args ...any) { fmt.Printf(mark+format+"\n", args...) }

// child is the life of a client process: order, "ready", the parent's word, work, "done".
func child(t *testing.T, info lock.Info) {
	in := bufio.NewReader(os.Stdin)
	if err := serve(in, info); err != nil {
		say("failed %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		t.Error("client process failed") // the parent has the reason
	}
}

func serve(in *bufio.Reader, info lock.Info) error {
	s, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	var o order
	if err := json.Unmarshal(s, &o); err != nil {
		return fmt.Errorf("decode the order: %w", err)
	}
	room, err := openClaims(o.Claims)
	if err != nil {
		return err
	}
	defer room.close()
	ctx := context.Background()
	o.Target.Meter = &lock.Meter{}
	c, err := info.Dial(ctx, o.Target)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer c.Close()
	say("ready")
	if _, err := in.ReadBytes('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	l := c.(lock.Leaser)
	if o.Hold {
		if _, err := l.Acquire(ctx, o.Key, o.Options); err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		room.enter(o.Me)
		say("held")
		// The parent kills the process; if the parent dies, its end of the pipe does.
		_, err := in.ReadBytes('\n')
		return fmt.Errorf("the parent has gone: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	err = all(o.Workers, func(w int) error { return work(ctx, l, o, room, o.Me*100+int64(w)) })
	if err == nil {
		say("done")
	}
	return err
}

// work acquires, enters, leaves and releases, again and again.
func work(ctx context.Context, c lock.Leaser, o order, room *claims, me int64) error {
	for ctx.Err() == nil && room.entries.Load() < o.Ops {
		l, err := c.Acquire(ctx, o.Key, o.Options)
		switch {
		case errors.Is(err, lock.ErrNotAcquired), ctx.Err() != nil && errors.Is(err, lock.ErrUnknown):
			continue
		case err != nil:
			return fmt.Errorf("acquire: %w", err)
		}
		room.enter(me)
		before := room.counter
		time.Sleep(50 * time.Microsecond)
		room.counter = before + 1
		if lost(l) {
			return errors.New("a lease was lost long before its TTL")
		}
		room.leave(me) // before Release is called
		if err := l.Release(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("release a lease that is held: %w", err)
		}
	}
	return nil
}
