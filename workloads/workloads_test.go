package workloads

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/near"
	"lockbench/lock/loop"
)

func TestDistNotation(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"0", "0"}, {"200", "200"}, {"fixed:200", "200"}, {"200ns", "200ns"}, {" uniform:1-9 ", "uniform:1-9"},
		{"exp:1.5us", "exp:1.5µs"}, {"bimodal:100,20000,1%", "bimodal:100,20000,1"},
	} {
		d, err := ParseDist(c.in)
		if err != nil || d.String() != c.want {
			t.Errorf("%q: %v, %v: want %s", c.in, d, err, c.want)
			continue
		}
		if again, err := ParseDist(d.String()); err != nil || again != d {
			t.Errorf("%q does not survive being printed: %v, %v", c.in, again, err)
		}
	}
	for _, bad := range []string{"", "x", "-1", "-1ns", "1h", "norm:1", "uniform:5", "uniform:9-1", "uniform:1-5us", "exp:", "bimodal:1,2", "bimodal:1,2,0", "bimodal:1,2,100", "bimodal:1,2,NaN", "99999999999", "fixed:1e3"} {
		if d, err := ParseDist(bad); err == nil {
			t.Errorf("%q parsed as %v", bad, d)
		}
	}
}

func mean(v []uint32) float64 {
	s := 0.0
	for _, x := range v {
		s += float64(x)
	}
	return s / float64(len(v))
}

func TestTablesHaveTheirDistribution(t *testing.T) {
	for _, c := range []struct {
		dist      string
		mean, tol float64
		quantile  float64 // share of entries at or below at
		at        uint32
	}{
		{"fixed:200", 200, 0, 1, 200},
		{"uniform:100-300", 200, 0.01, 0.5, 200},
		{"exp:1000", 1000, 0.01, 1 - 1/math.E, 1000},
		{"bimodal:100,20000,1", 299, 0.05, 0.99, 100},
		{"bimodal:100,20000,0.1", 119.9, 0.1, 0.999, 100},
	} {
		d, err := ParseDist(c.dist)
		if err != nil {
			t.Fatal(err)
		}
		l := d.Resolve(1)
		a := l.Table(rand.New(rand.NewPCG(1, 1)))
		b := l.Table(rand.New(rand.NewPCG(2, 1)))
		if n := len(a); n&(n-1) != 0 {
			t.Errorf("%s: %d entries, want a power of two", c.dist, n)
		}
		if m := mean(a); math.Abs(m-c.mean) > c.tol*c.mean {
			t.Errorf("%s: mean %v, want %v", c.dist, m, c.mean)
		}
		if math.Abs(l.Mean()-c.mean) > 0.05*c.mean {
			t.Errorf("%s: Mean says %v, want %v", c.dist, l.Mean(), c.mean)
		}
		below := 0
		for _, x := range a {
			if x <= c.at {
				below++
			}
		}
		if q := float64(below) / float64(len(a)); math.Abs(q-c.quantile) > 0.01 {
			t.Errorf("%s: %.4f of the entries are at most %d, want %.4f", c.dist, q, c.at, c.quantile)
		}
		// Another seed deals the same lengths in another order.
		if len(a) > 1 && slices.Equal(a, b) {
			t.Errorf("%s: two seeds gave the same order", c.dist)
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: two seeds gave different lengths", c.dist)
		}
	}
}

func TestResolveUsesTheCalibration(t *testing.T) {
	d, err := ParseDist("uniform:100ns-300ns")
	if err != nil {
		t.Fatal(err)
	}
	if l := d.Resolve(2); l.A != 50 || l.B != 150 {
		t.Errorf("with units of 2 ns: %+v", l)
	}
	u, err := ParseDist("uniform:100-300")
	if err != nil {
		t.Fatal(err)
	}
	if l := u.Resolve(2); l.A != 100 || l.B != 300 {
		t.Errorf("units must not be scaled: %+v", l)
	}
}

func TestOpsHaveTheirShares(t *testing.T) {
	l := Load{Locks: 16, Zipf: 1.1, ReadPct: 20, TryPct: 10, TimedPct: 5}
	ops := l.Tables(3, 8, 42).Ops
	kinds, locks := map[loop.Kind]float64{}, make([]float64, 16)
	for _, o := range ops {
		kinds[o.Kind] += 100 / float64(len(ops))
		locks[o.Lock] += 1 / float64(len(ops))
	}
	for k, want := range map[loop.Kind]float64{loop.OpRead: 20, loop.OpTry: 10, loop.OpTimed: 5, loop.OpLock: 65} {
		if math.Abs(kinds[k]-want) > 0.1 {
			t.Errorf("kind %d: %.2f %%, want %v", k, kinds[k], want)
		}
	}
	sum := 0.0
	for k := range locks {
		sum += math.Pow(float64(k+1), -1.1)
	}
	for k, share := range locks {
		if want := math.Pow(float64(k+1), -1.1) / sum; math.Abs(share-want) > 0.001 {
			t.Errorf("lock %d: share %.4f, want %.4f", k, share, want)
		}
	}
	if ops := (Load{Locks: 1}).Tables(0, 1, 1).Ops; ops != nil {
		t.Errorf("a plain load has an operation table of %d", len(ops))
	}
}

func TestArrivalsHaveTheirRate(t *testing.T) {
	for _, kind := range []string{"constant", "poisson"} {
		for _, rate := range []float64{1000, 333_333, 50e6} {
			l := Load{Locks: 1, Arrivals: kind, RateOps: rate}
			a, b := l.Tables(0, 4, 7), l.Tables(1, 4, 7)
			s := 0.0
			for _, g := range a.GapsNS {
				s += float64(g)
			}
			if got := 4 * 1e9 * float64(len(a.GapsNS)) / s; math.Abs(got/rate-1) > 0.01 {
				t.Errorf("%s:%v: %v arrivals a second", kind, rate, got)
			}
			if a.OffsetNS == b.OffsetNS && rate < 1e6 {
				t.Errorf("%s:%v: two workers begin together", kind, rate)
			}
			if kind == "poisson" && slices.Equal(a.GapsNS, b.GapsNS) {
				t.Errorf("%s:%v: two workers have the same gaps", kind, rate)
			}
		}
	}
}

func TestSameSeedSameTables(t *testing.T) {
	l := get(t, "striped-zipf").Resolve(1)
	a, b, c := l.Tables(1, 4, 9), l.Tables(1, 4, 9), l.Tables(1, 4, 10)
	if !slices.Equal(a.Ops, b.Ops) || !slices.Equal(a.Think, b.Think) {
		t.Error("the same seed gave two tables")
	}
	if slices.Equal(a.Ops, c.Ops) {
		t.Error("another seed gave the same operations")
	}
}

// get is Get for names that exist.
func get(t *testing.T, name string) Spec {
	t.Helper()
	s, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPresets(t *testing.T) {
	want := []string{"uncontended", "max-contention", "moderate", "long-sections", "oversubscribed", "hog", "bursty", "read-mostly", "striped-zipf", "open-loop", "transfer"}
	var got []string
	for _, p := range Presets() {
		got = append(got, p.Name)
		s := p.Spec()
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if s.Name != p.Name || p.Doc == "" {
			t.Errorf("%s: name %q, doc %q", p.Name, s.Name, p.Doc)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("presets %v, want %v", got, want)
	}
	_, err := Get("modrate")
	var u *near.UnknownError
	if !errors.As(err, &u) || !slices.Contains(u.Near, "moderate") {
		t.Errorf("near names of modrate: %v", err)
	}
}

func TestHogHogs(t *testing.T) {
	l := get(t, "hog").Resolve(1)
	if a, b := mean(l.Tables(0, 4, 1).Section), mean(l.Tables(1, 4, 1).Section); a != 20000 || b != 100 {
		t.Errorf("sections of hog and other: %v, %v", a, b)
	}
}

func TestSetNamesTheChange(t *testing.T) {
	s := get(t, "moderate")
	for _, kv := range [][2]string{{"section", "100"}, {"think", "exp:7"}, {"locks", "3"}, {"phases", "50:1,100:2"}, {"timed-wait", "1ms"}} {
		if err := s.Set(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	// section=100 is what the preset has already.
	if want := "moderate+think=exp:7+locks=3+phases=50:1,100:2+timed-wait=1ms"; s.Name != want {
		t.Errorf("name %q, want %q", s.Name, want)
	}
	if s.TimedWait != time.Millisecond || len(s.Phases) != 2 {
		t.Errorf("spec %+v", s)
	}
	if err := s.Set("nope", "1"); err == nil {
		t.Error("an unknown knob was set")
	}
	for _, k := range Knobs() {
		if _, ok := s.field(k.Name); !ok {
			t.Errorf("knob %s has no field", k.Name)
		}
		if err := s.Set(k.Name, "?"); err == nil {
			t.Errorf("knob %s takes %q", k.Name, "?")
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Spec)
	}{
		{"read-lines: -1", func(s *Spec) { s.ReadLines = -1 }},
		{"write-lines: 5000", func(s *Spec) { s.WriteLines = 5000 }},
		{"reads: 101", func(s *Spec) { s.Reads = 101 }},
		{"try: NaN", func(s *Spec) { s.Try = math.NaN() }},
		{"timed: 0.001", func(s *Spec) { s.Timed = 0.001 }},
		{"together are 120", func(s *Spec) { s.Reads, s.Try = 60, 60 }},
		{"timed-wait", func(s *Spec) { s.Timed, s.TimedWait = 5, 0 }},
		{"locks: 0", func(s *Spec) { s.Locks = 0 }},
		{"phases and arrivals", func(s *Spec) {
			s.Phases, s.Arrivals = Phases{{50, 1}}, Arrivals{"poisson", 5}
		}},
	} {
		s := get(t, "moderate")
		c.change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		in    string
		cores int
		want  int
	}{{"3", 8, 3}, {"all", 8, 8}, {"all", 1, 2}, {"4x", 2, 8}, {"0.5x", 8, 4}, {"0.1x", 2, 1}} {
		n, err := ParseCount(c.in)
		if err != nil || n.On(c.cores) != c.want {
			t.Errorf("%s on %d cores: %d, %v: want %d", c.in, c.cores, n.On(c.cores), err, c.want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "0x", "65x", "9999", "NaNx", "1.5"} {
		if n, err := ParseCount(bad); err == nil {
			t.Errorf("%q parsed as %v", bad, n)
		}
	}
}

func FuzzNotations(f *testing.F) {
	for _, s := range []string{"200", "uniform:1-9us", "bimodal:1,2,3", "exp:1h", "zipf:1.1", "poisson:1e300", "25:1,100:2", "4x", "all"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDist(s); err == nil {
			if again, err := ParseDist(d.String()); err != nil || again != d {
				t.Errorf("%q: %v printed as %q: %v, %v", s, d, d.String(), again, err)
			}
			if l := d.Resolve(1.3); l.Kind == "uniform" && l.A > l.B {
				t.Errorf("%q: bounds %d, %d", s, l.A, l.B)
			}
		}
		if c, err := ParseCount(s); err == nil && (c.On(2) < 1 || c.On(1024) > 64*1024) {
			t.Errorf("%q: %d workers", s, c.On(2))
		}
		if p, err := ParsePhases(s); err == nil && len(p) > MaxPhases {
			t.Errorf("%q: %d phases", s, len(p))
		}
		if a, err := ParseArrivals(s); err == nil && a.Kind != "" && !(a.Rate > 0 && a.Rate <= MaxRate) {
			t.Errorf("%q: rate %v", s, a.Rate)
		}
		if c, err := ParseChoice(s); err == nil && !(c.Zipf >= 0 && c.Zipf <= 10) {
			t.Errorf("%q: exponent %v", s, c.Zipf)
		}
	})
}
