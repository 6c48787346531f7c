package workloads

import (
	"fmt"
	"strconv"
	"strings"
)

// Keys says which locks there are and which of them an operation takes:
//
//	hot               one for all workers
//	own               one a worker, which nobody else takes
//	uniform:16        any of 16 with equal probability
//	zipf:16:1.1       the k-th of 16 with probability proportional to k^-1.1
//
// It says in one knob what locks and choice say in two, and overrides both.
type Keys struct {
	Kind string // empty: as locks and choice say
	N    int
	Zipf float64
}

// ParseKeys parses the notation above.
func ParseKeys(s string) (Keys, error) {
	parts := strings.Split(strings.TrimSpace(s), ":")
	k := Keys{Kind: parts[0]}
	bad := fmt.Errorf("bad keys %q: want hot, own, uniform:N or zipf:N:EXPONENT, N from 2 to %d", s, MaxLocks)
	number := func(i int) bool {
		n, err := strconv.Atoi(parts[i])
		k.N = n
		return err == nil && n >= 2 && n <= MaxLocks
	}
	switch {
	case (k.Kind == "hot" || k.Kind == "own") && len(parts) == 1:
		return k, nil
	case k.Kind == "uniform" && len(parts) == 2 && number(1):
		return k, nil
	case k.Kind == "zipf" && len(parts) == 3 && number(1):
		c, err := ParseChoice("zipf:" + parts[2])
		if err != nil {
			return Keys{}, bad
		}
		k.Zipf = c.Zipf
		return k, nil
	}
	return Keys{}, bad
}

func (k Keys) String() string {
	switch k.Kind {
	case "uniform":
		return "uniform:" + strconv.Itoa(k.N)
	case "zipf":
		return "zipf:" + strconv.Itoa(k.N) + ":" + strconv.FormatFloat(k.Zipf, 'g', -1, 64)
	}
	return k.Kind
}

// UnmarshalText and MarshalText make Keys a scalar.
func (k *Keys) UnmarshalText(b []byte) (err error) { *k, err = ParseKeys(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// KeysText says which locks there are and which an operation takes, in the notation of
// Keys, whichever knobs said it.
func (s Spec) KeysText() string {
	k := s.Keys
	switch {
	case k.Kind != "":
	case s.Locks == 1:
		k.Kind = "hot"
	case s.Choice.Zipf > 0:
		k = Keys{Kind: "zipf", N: s.Locks, Zipf: s.Choice.Zipf}
	default:
		k = Keys{Kind: "uniform", N: s.Locks}
	}
	return k.String()
}

// Order is the one in which a transfer takes its two keys; empty: no transfer.
type Order string

// Orders of a transfer.
const (
	OrderSorted  Order = "sorted"   // the smaller key first: nobody can wait in a circle
	OrderAsGiven Order = "as-given" // from, then to: two transfers in opposite directions deadlock
)

// UnmarshalText accepts the two orders.
func (o *Order) UnmarshalText(b []byte) error {
	switch v := Order(strings.TrimSpace(string(b))); v {
	case OrderSorted, OrderAsGiven:
		*o = v
		return nil
	}
	return fmt.Errorf("bad order %q: want %s or %s", b, OrderSorted, OrderAsGiven)
}

// Pairs returns a worker's transfers: two different keys each, in the order
// in which they are given.
func (l Load) Pairs(worker int, seed uint64) [][2]int {
	from := l.Tables(worker, 1, seed^0x9e3779b97f4a7c15).Ops
	to := l.Tables(worker, 1, seed^0x6a09e667f3bcc909).Ops
	out := make([][2]int, len(from))
	for i := range out {
		a, b := int(from[i].Lock), int(to[i].Lock)
		if a == b {
			b = (b + 1) % l.Locks
		}
		out[i] = [2]int{a, b}
	}
	return out
}
