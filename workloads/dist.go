package workloads

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Dist is a distribution of lengths, as users write it:
//
//	0 or fixed:200       always the same
//	uniform:100-300      any length between the two
//	exp:200              exponential with this mean
//	bimodal:100,20000,1  short, long, and how many percent are long
//
// Lengths are work units, or durations with a unit (200ns, 1.5us).
type Dist struct {
	Kind string // fixed, uniform, exp, bimodal
	A, B Length // fixed: A; uniform: A to B; exp: mean A; bimodal: A short, B long
	Pct  float64
}

// Length is a number of work units, or a duration if Time is not 0.
type Length struct {
	Units uint32
	Time  time.Duration
}

// MaxLength is the longest section or think time: below what 32 bits of units
// hold, and long enough for any benchmark. A typing error should not hang one.
const MaxLength = 2 * time.Second
const maxUnits = 2_000_000_000

func parseLength(s string) (Length, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		if n > maxUnits {
			return Length{}, fmt.Errorf("bad length %q: want at most %d units", s, maxUnits)
		}
		return Length{Units: uint32(n)}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return Length{}, fmt.Errorf("bad length %q: want work units (200) or a duration (200ns, 1.5us)", s)
	}
	if d < 0 || d > MaxLength {
		return Length{}, fmt.Errorf("bad length %q: want 0 to %v", s, MaxLength)
	}
	return Length{Time: d}, nil
}

// rank orders lengths as long as no calibration is known; units count as ns.
func (l Length) rank() float64 { return float64(l.Units) + float64(l.Time) }

func (l Length) String() string {
	if l.Time != 0 {
		return l.Time.String()
	}
	return strconv.FormatUint(uint64(l.Units), 10)
}

// units converts with the calibrated length of a unit, rounding to nearest.
func (l Length) units(unitNS float64) uint32 {
	if l.Time == 0 {
		return l.Units
	}
	return uint32(math.Min(math.MaxUint32, math.Round(float64(l.Time)/unitNS)))
}

// ParseDist parses the notation above.
func ParseDist(s string) (Dist, error) {
	kind, rest, found := strings.Cut(strings.TrimSpace(s), ":")
	if !found {
		kind, rest = "fixed", kind
	}
	d := Dist{Kind: kind}
	var err error
	two := func(sep string) (string, string, error) {
		a, b, ok := strings.Cut(rest, sep)
		if !ok {
			return "", "", fmt.Errorf("bad distribution %q: want two lengths with %q between them", s, sep)
		}
		return a, b, nil
	}
	switch kind {
	case "fixed", "exp":
		d.A, err = parseLength(rest)
	case "uniform":
		var a, b string
		if a, b, err = two("-"); err != nil {
			return Dist{}, err
		}
		if d.A, err = parseLength(a); err == nil {
			d.B, err = parseLength(b)
		}
		if err == nil && (d.A.Time != 0) != (d.B.Time != 0) && d.A.rank() != 0 {
			err = fmt.Errorf("the bounds %v and %v: want both in work units or both as durations", d.A, d.B)
		}
		if err == nil && d.A.rank() > d.B.rank() {
			err = fmt.Errorf("the lower bound %v is above the upper bound %v", d.A, d.B)
		}
	case "bimodal":
		p := strings.Split(rest, ",")
		if len(p) != 3 {
			return Dist{}, fmt.Errorf("bad distribution %q: want bimodal:SHORT,LONG,PERCENT", s)
		}
		if d.A, err = parseLength(p[0]); err != nil {
			break
		}
		if d.B, err = parseLength(p[1]); err != nil {
			break
		}
		d.Pct, err = strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(p[2]), "%"), 64)
		if err != nil || !(d.Pct >= minLongPct && d.Pct < 100) {
			err = fmt.Errorf("bad share of long ones %q: want a percentage from %v to below 100", p[2], minLongPct)
		}
	default:
		return Dist{}, fmt.Errorf("unknown distribution %q: want fixed, uniform, exp or bimodal", kind)
	}
	if err != nil {
		return Dist{}, fmt.Errorf("bad distribution %q: %w", s, err)
	}
	return d, nil
}

func (d Dist) String() string {
	switch d.Kind {
	case "", "fixed":
		return d.A.String()
	case "uniform":
		return fmt.Sprintf("uniform:%v-%v", d.A, d.B)
	case "bimodal":
		return fmt.Sprintf("bimodal:%v,%v,%v", d.A, d.B, d.Pct)
	}
	return d.Kind + ":" + d.A.String()
}

// UnmarshalText and MarshalText make Dist a scalar in YAML and JSON.
func (d *Dist) UnmarshalText(b []byte) (err error) { *d, err = ParseDist(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Resolve turns durations into units of the given length in ns.
func (d Dist) Resolve(unitNS float64) Lengths {
	return Lengths{Kind: d.kind(), A: d.A.units(unitNS), B: d.B.units(unitNS), Pct: d.Pct}
}

func (d Dist) kind() string {
	if d.Kind == "" {
		return "fixed"
	}
	return d.Kind
}

// Lengths is a resolved Dist: work units only.
type Lengths struct {
	Kind string  `json:"kind"`
	A    uint32  `json:"a"`
	B    uint32  `json:"b,omitempty"`
	Pct  float64 `json:"pct,omitempty"`
}

// The tables that stand for a distribution in the measured loop have a
// thousand entries (4 KiB: they are walked in order and must not fill a first
// level cache). A bimodal one has more, so that its share of long ones is right
// to 2 %, or, below 1 %, to one in eight at least.
const (
	tableSize    = 1 << 10
	midTableSize = 1 << 12
	bigTableSize = 1 << 14
	minLongPct   = 100 * 8.0 / bigTableSize
)

// Table returns the distribution as a shuffled table of a power-of-two length.
// Entries are the distribution's quantiles at (i+1/2)/n, not random draws: the
// mean is the same for every seed, only the order differs.
func (l Lengths) Table(rng *rand.Rand) []uint32 {
	n := tableSize
	switch {
	case l.Kind == "fixed":
		return []uint32{l.A}
	case l.Kind == "bimodal" && l.Pct/100*midTableSize < 32:
		n = bigTableSize
	case l.Kind == "bimodal":
		n = midTableSize
	}
	long := int(math.Round(l.Pct / 100 * float64(n))) // of a bimodal table
	t := make([]uint32, n)
	for i := range t {
		q := (float64(i) + 0.5) / float64(n)
		switch l.Kind {
		case "uniform":
			t[i] = uint32(math.Round(float64(l.A) + q*float64(l.B-l.A)))
		case "exp":
			t[i] = uint32(math.Min(math.MaxUint32, math.Round(-math.Log(1-q)*float64(l.A))))
		case "bimodal":
			t[i] = l.A
			if i >= n-long {
				t[i] = l.B
			}
		}
	}
	rng.Shuffle(n, func(i, j int) { t[i], t[j] = t[j], t[i] })
	return t
}

// Max returns the longest length of the table, in units.
func (l Lengths) Max() float64 {
	switch l.Kind {
	case "uniform", "bimodal":
		return math.Max(float64(l.A), float64(l.B))
	case "exp":
		return float64(l.A) * math.Log(2*tableSize)
	}
	return float64(l.A)
}

// Mean returns the mean length in units.
func (l Lengths) Mean() float64 {
	switch l.Kind {
	case "uniform":
		return (float64(l.A) + float64(l.B)) / 2
	case "bimodal":
		return float64(l.A)*(1-l.Pct/100) + float64(l.B)*l.Pct/100
	}
	return float64(l.A)
}
