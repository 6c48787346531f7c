package workloads

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count is a number of workers: "4", "all" (as many as cores, at least 2), or
// "4x" (four times the cores: oversubscription).
type Count struct {
	N      int
	Factor float64 // times the cores, if N is 0
}

// MaxWorkers bounds the workers of a cell.
const MaxWorkers = 4096

// ParseCount parses the notation above.
func ParseCount(s string) (Count, error) {
	s = strings.TrimSpace(s)
	if s == "all" {
		return Count{Factor: 1}, nil
	}
	if f, ok := strings.CutSuffix(s, "x"); ok {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || !(v > 0 && v <= 64) {
			return Count{}, fmt.Errorf("bad number of workers %q: want a factor from above 0x to 64x", s)
		}
		return Count{Factor: v}, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxWorkers {
		return Count{}, fmt.Errorf("bad number of workers %q: want 1 to %d, \"all\", or a multiple of the cores such as 4x", s, MaxWorkers)
	}
	return Count{N: n}, nil
}

func (c Count) String() string {
	switch {
	case c.N > 0:
		return strconv.Itoa(c.N)
	case c.Factor == 1:
		return "all"
	}
	return strconv.FormatFloat(c.Factor, 'g', -1, 64) + "x"
}

// On returns the number of workers on the given number of cores. "all" is 2 on
// one core: contention needs two.
func (c Count) On(cores int) int {
	switch {
	case c.N > 0:
		return c.N
	case c.Factor == 1:
		return max(2, cores)
	}
	return max(1, int(math.Round(c.Factor*float64(cores))))
}

// UnmarshalText and MarshalText make Count a scalar.
func (c *Count) UnmarshalText(b []byte) (err error) { *c, err = ParseCount(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (c Count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Choice says which of several locks an operation takes: "uniform", or
// "zipf:1.1", where the k-th lock has a share proportional to k^-1.1.
type Choice struct{ Zipf float64 }

// ParseChoice parses the notation above.
func ParseChoice(s string) (Choice, error) {
	kind, v, _ := strings.Cut(strings.TrimSpace(s), ":")
	switch kind {
	case "uniform":
		if v == "" {
			return Choice{}, nil
		}
	case "zipf":
		if f, err := strconv.ParseFloat(v, 64); err == nil && f > 0 && f <= 10 {
			return Choice{Zipf: f}, nil
		}
	}
	return Choice{}, fmt.Errorf("bad choice of locks %q: want uniform, or zipf:EXPONENT with an exponent above 0, at most 10", s)
}

func (c Choice) String() string {
	if c.Zipf == 0 {
		return "uniform"
	}
	return "zipf:" + strconv.FormatFloat(c.Zipf, 'g', -1, 64)
}

// UnmarshalText and MarshalText make Choice a scalar.
func (c *Choice) UnmarshalText(b []byte) (err error) { *c, err = ParseChoice(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Arrivals is an open loop's schedule: "constant:50000" or "poisson:50000",
// the rate in operations a second over all workers; "closed" is none.
type Arrivals struct {
	Kind string // "", constant, poisson
	Rate float64
}

// ParseArrivals parses the notation above.
func ParseArrivals(s string) (Arrivals, error) {
	kind, v, _ := strings.Cut(strings.TrimSpace(s), ":")
	if kind == "closed" && v == "" {
		return Arrivals{}, nil
	}
	rate, err := strconv.ParseFloat(v, 64)
	if (kind != "constant" && kind != "poisson") || err != nil || !(rate > 0 && rate <= MaxRate) {
		return Arrivals{}, fmt.Errorf("bad arrivals %q: want closed, constant:RATE or poisson:RATE, in operations a second, above 0, at most %.0g", s, MaxRate)
	}
	return Arrivals{Kind: kind, Rate: rate}, nil
}

func (a Arrivals) String() string {
	if a.Kind == "" {
		return "closed"
	}
	return a.Kind + ":" + strconv.FormatFloat(a.Rate, 'g', -1, 64)
}

// UnmarshalText and MarshalText make Arrivals a scalar.
func (a *Arrivals) UnmarshalText(b []byte) (err error) {
	*a, err = ParseArrivals(string(b))
	return err
}

// MarshalText is the inverse of UnmarshalText.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Phase is one stage of an interval: what percentage of the workers is active
// (at least one), for what share of the interval.
type Phase struct {
	ActivePct float64 `json:"active_pct"`
	Share     float64 `json:"share"`
}

// Phases is a list of stages, as "25:1,100:2,25:1": percent of the workers,
// and relative length. "none" is one stage with all workers.
type Phases []Phase

// MaxPhases bounds the number of stages.
const MaxPhases = 32

// ParsePhases parses the notation above.
func ParsePhases(s string) (Phases, error) {
	s = strings.TrimSpace(s)
	if s == "none" || s == "" {
		return nil, nil
	}
	var ps Phases
	for part := range strings.SplitSeq(s, ",") {
		a, b, ok := strings.Cut(part, ":")
		if !ok {
			b = "1"
		}
		pct, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(a), "%"), 64)
		share, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
		if err != nil || err2 != nil || !(pct > 0 && pct <= 100) || !(share > 0 && share <= 1000) {
			return nil, fmt.Errorf("bad phase %q: want PERCENT:LENGTH, such as 25:1, with a percentage above 0, at most 100", part)
		}
		ps = append(ps, Phase{pct, share})
	}
	if len(ps) > MaxPhases {
		return nil, fmt.Errorf("%d phases: want at most %d", len(ps), MaxPhases)
	}
	return ps, nil
}

func (p Phases) String() string {
	if len(p) == 0 {
		return "none"
	}
	var parts []string
	for _, x := range p {
		parts = append(parts, fmt.Sprintf("%v:%v", x.ActivePct, x.Share))
	}
	return strings.Join(parts, ",")
}

// UnmarshalText and MarshalText make Phases a scalar.
func (p *Phases) UnmarshalText(b []byte) (err error) { *p, err = ParsePhases(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (p Phases) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
