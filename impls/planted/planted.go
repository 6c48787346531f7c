// Package planted wraps locks with a slowdown of known size, so that a gate can
// be shown to find one: planted:LOCK is LOCK, and whoever holds it does some
// units of work more before the section begins. It is the positive control of a
// comparison, as impls/broken is of a verdict. The wrapped locks are in no
// catalogue; a program of one's own adds them (internal/gatestudy/program).
package planted

import (
	"fmt"
	"strconv"
	"strings"

	"lockbench/lock"
	"lockbench/lock/loop"
)

// Prefix is what the name of a wrapped lock begins with.
const Prefix = "planted:"

// family groups the wrapped locks.
const family = "planted"

// Wrap returns the lock with extra units of work inside of it, 0 for none: then
// it costs what the wrapper costs, which is what a slowdown is compared with.
// Only Lock and Unlock are wrapped, and the loops are interface calls. It
// panics on a lock that is distributed or unavailable: there is nothing to wrap.
func Wrap(i lock.Info, extra uint32) lock.Info {
	if i.New == nil {
		panic(fmt.Sprintf("planted: %s is not an in-process lock of this machine", i.Name))
	}
	inner := i.New
	i.Name, i.Family = Prefix+i.Name, family
	i.Doc = fmt.Sprintf("%d units of work longer: %s", extra, i.Doc)
	i.New = func(workers int) (lock.Lock, error) {
		l, err := inner(workers)
		if err != nil {
			return nil, err
		}
		return slowed{l, extra}, nil
	}
	return i
}

type slowed struct {
	lock.Lock
	extra uint32
}

// NewHandle implements lock.Lock.
func (s slowed) NewHandle(w *lock.Worker) lock.Handle {
	return &handle{Handle: s.Lock.NewHandle(w), extra: s.extra, x: uint64(w.ID) + 1}
}

type handle struct {
	lock.Handle
	x     uint64
	extra uint32
}

// Lock acquires, and then works: the extra time is the holder's.
func (h *handle) Lock() {
	h.Handle.Lock()
	h.x = loop.Spin(h.x, h.extra)
}

// digits is how many digits of a number Format writes: programs that differ in
// the numbers alone then have strings of one length, and one layout.
const digits = 5

// MaxExtra is the largest number of units that Format can write.
const MaxExtra = 99_999

// Format writes extra units by lock as Parse reads them: "mutex=00012,mcs=00009".
// It panics on more than MaxExtra.
func Format(names []string, extra map[string]uint32) string {
	var parts []string
	for _, n := range names {
		if extra[n] > MaxExtra {
			panic(fmt.Sprintf("planted: %d units for %s: at most %d", extra[n], n, MaxExtra))
		}
		parts = append(parts, fmt.Sprintf("%s=%0*d", n, digits, extra[n]))
	}
	return strings.Join(parts, ",")
}

// Parse wraps the locks of the catalogue that text names.
func Parse(text string, catalogue []lock.Info) ([]lock.Info, error) {
	byName := map[string]lock.Info{}
	for _, i := range catalogue {
		byName[i.Name] = i
	}
	var out []lock.Info
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, number, _ := strings.Cut(part, "=")
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > MaxExtra {
			return nil, fmt.Errorf("planted: %q: want LOCK=UNITS, units from 0 to %d", part, MaxExtra)
		}
		i, ok := byName[name]
		if !ok || i.New == nil {
			return nil, fmt.Errorf("planted: there is no in-process lock %q here", name)
		}
		out = append(out, Wrap(i, uint32(n)))
	}
	return out, nil
}

var (
	_ lock.Lock   = slowed{}
	_ lock.Handle = (*handle)(nil)
)
