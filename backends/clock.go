package backends

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Wall clocks of Redis servers that can be shifted, each alone and while it runs: libclock.so of the
// image make images builds (images/redis/clock.c) is preloaded, and reads an offset from a file in
// the container. The clock of the machine is never set.
const (
	clockLib  = "/usr/lib/lockbench/libclock.so"
	clockFile = "/lockbench.clock"
	// clockSlots is how many offsets the file has room for. The first is that of a server that was never
	// shifted; then they are taken in turn, so that the one that is being written does not count yet.
	clockSlots = 128
)

// ErrNoClock is wrapped by errors of Shift and Clock that say why a server has no clock to shift.
var ErrNoClock = errors.New("no clock to shift")

// clocked gives a Redis server the clock, if the cluster is to have it.
func (b *build) clocked(s *spec) *spec {
	if !b.clock {
		return s
	}
	env, files := maps.Clone(s.env), maps.Clone(s.files)
	if env == nil {
		env = map[string]string{}
	}
	if files == nil {
		files = map[string]string{}
	}
	// An image without the library: the loader says so in the log, and starts the server.
	env["LD_PRELOAD"], env["LOCKBENCH_CLOCK"] = clockLib, clockFile
	files[clockFile] = strings.Repeat("\x00", 8+8*clockSlots)
	s.env, s.files, s.clock = env, files, true
	return s
}

// Shift sets how far the server's wall clock is off: d > 0 ahead of the machine's, d < 0 behind, 0 true
// again. It is absolute, not added to what was. The server sees it with its next reading; all its other clocks
// stay. Restart keeps it, RestartEmpty starts at 0.
//
// ErrNoClock is wrapped, with the reason, where there is nothing to shift; nothing has happened then.
func (n *Node) Shift(ctx context.Context, d time.Duration) error {
	if err := n.hasClock(); err != nil {
		return n.err("shift the clock of", err)
	}
	slot := n.slot%(clockSlots-1) + 1
	var ns [8]byte
	binary.NativeEndian.PutUint64(ns[:], uint64(d))
	// Two writes, in this order: see clock.c. The shell's printf makes the bytes, of octal numbers.
	const script = `[ -e "$1" ] || { echo missing; exit 0; }
put() { printf "$1" | dd of="$2" bs="$3" seek="$4" conv=notrunc 2>/dev/null; }
put "$3" "$2" 8 "$4" && put "$5" "$2" 1 0`
	out, err := n.Exec(ctx, []string{"LD_PRELOAD="}, "sh", "-c", script, "shift", clockLib, clockFile,
		octal(ns[:]...), fmt.Sprint(1+slot), octal(byte(slot)))
	switch {
	case err != nil:
		return fmt.Errorf("shift the clock: %w", err)
	case strings.TrimSpace(out) == "missing":
		return n.err("shift the clock of", fmt.Errorf("%w: image %s has no %s (the one of make images does)", ErrNoClock, n.c.image, clockLib))
	}
	n.slot = slot
	return nil
}

// octal writes bytes as printf takes them.
func octal(bytes ...byte) string {
	var text strings.Builder
	for _, b := range bytes {
		fmt.Fprintf(&text, `\%03o`, b)
	}
	return text.String()
}

// hasClock says why the server's clock cannot be shifted.
func (n *Node) hasClock() error {
	if err := n.keepsLeases(); err != nil || n.spec.clock {
		return err
	}
	return fmt.Errorf("%w: the servers were not started with one (Options.Clock)", ErrNoClock)
}

// keepsLeases says why no lease depends on the server's wall clock.
func (n *Node) keepsLeases() error {
	switch {
	case n.c.top.image != imageRedis:
		return fmt.Errorf("%w: no lock of %s depends on its server's wall clock", ErrNoClock, n.c.top.Service)
	case n.c.target.Master != "" && isSentinel(n.c.target, n.Addr):
		return fmt.Errorf("%w: a sentinel keeps no leases", ErrNoClock)
	}
	return nil
}

// Clock asks a Redis server for its wall clock, as its leases see it, whether it can be shifted or not.
// Errors of other servers wrap ErrNoClock.
func (n *Node) Clock(ctx context.Context) (time.Time, error) {
	if err := n.keepsLeases(); err != nil {
		return time.Time{}, n.err("ask for the time of", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var now time.Time
	err := withRedis(ctx, n.c.target, n.Addr, func(ctx context.Context, c *redis.Client) (err error) {
		now, err = c.Time(ctx).Result()
		return err
	})
	if err != nil {
		return time.Time{}, n.err("ask for the time of", err)
	}
	return now, nil
}
