package chaos

import (
	"fmt"
	"testing"
	"time"

	"lockbench/backends"
)

// loopbackCluster is the server of the controls.
func loopbackCluster(t *testing.T) *backends.Cluster {
	t.Helper()
	c, err := backends.Open(t.Context(), "loopback", backends.Options{RunID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// bareStage is that of a round of which only some parties came to be: their processes could not be started, or
// the run was interrupted before.
func bareStage(t *testing.T, f Fault, cluster *backends.Cluster, with func(*Play)) *Stage {
	t.Helper()
	p := &Play{Cell: &Cell{Fault: f}, fault: f, cluster: cluster}
	with(p)
	times := TimesOf("loopback", 0, 0, f)
	return &Stage{Plays: []*Play{p}, Cluster: cluster, Times: times, Rand: random(1, f.Name, "loopback", 0), Fault: f}
}

// TestCleanupOfNothing: Cleanup may be called whatever has failed: before any party was there, and after a Setup that
// found no server.
func TestCleanupOfNothing(t *testing.T) {
	cluster := loopbackCluster(t)
	for _, f := range Faults() {
		if f.On == OnProcess {
			continue
		}
		for _, x := range []struct {
			name string
			with func(*Play)
		}{
			{"no party", func(*Play) {}},
			{"a holder that is not connected", func(p *Play) { p.Holder = &Party{Name: "holder", proc: &process{pid: 1 << 30}} }},
			{"two that are not connected", func(p *Play) {
				p.Holder, p.Next = &Party{Name: "holder", proc: &process{pid: 1 << 30}}, &Party{Name: "next", proc: &process{pid: 1 << 30}}
			}},
		} {
			t.Run(f.Name+"/"+x.name, func(t *testing.T) {
				for _, setup := range []bool{false, true} {
					s := bareStage(t, f, cluster, x.with)
					j := newInjection(f.steps(s))
					if err := calm(func() error {
						if !setup || f.On != OnServers { // the rounds of a fault on clients stop at the first party that is not there
							return nil
						}
						return j.Setup(t.Context())
					}); isPanic(err) {
						t.Errorf("set up: %v", err)
					}
					if err := calm(func() error { return j.Cleanup(t.Context()) }); err != nil {
						t.Errorf("clean up, set up before: %v: %v", setup, err)
					}
					if j.State() != StateClean {
						t.Errorf("state %s, want %s", j.State(), StateClean)
					}
				}
			})
		}
	}
}

// TestStepsOfHalfAStage: faults on servers are seen by several locks, of which one may have failed to begin.
func TestStepsOfHalfAStage(t *testing.T) {
	cluster := loopbackCluster(t)
	for _, f := range Faults() {
		if f.On != OnServers {
			continue
		}
		s := bareStage(t, f, cluster, func(p *Play) {
			p.Holder = &Party{Name: "holder", proc: &process{pid: 1 << 30, waited: make(chan struct{})}}
		})
		s.Plays = append(s.Plays, &Play{Cell: s.Plays[0].Cell, fault: f, cluster: cluster})
		steps := f.steps(s)
		if steps.Setup == nil {
			continue
		}
		// There is no server that could be hit: an error, and not the end of the program.
		if err := calm(func() error { return steps.Setup(t.Context()) }); isPanic(err) {
			t.Errorf("%s: set up: %v", f.Name, err)
		}
	}
}

type panicked struct{ what any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.what) }

func isPanic(err error) bool {
	_, ok := err.(*panicked)
	return ok
}

// calm turns a panic into an error.
func calm(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{r}
		}
	}()
	return do()
}

// TestCatalogue: each line of the catalogue can be looked up, and says what it must.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Faults() {
		if seen[f.Name] || f.Name == "" || f.Doc == "" {
			t.Errorf("%q: there twice, or without a word", f.Name)
		}
		seen[f.Name] = true
		if got, err := Named(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("Named(%q): got %q, %v", f.Name, got.Name, err)
		}
		for _, p := range f.Params {
			if p.Name == "" || p.Doc == "" || p.Min >= p.Max {
				t.Errorf("%s: parameter %+v", f.Name, p)
			}
			if p.Default != nil && (*p.Default < p.Min || *p.Default > p.Max) {
				t.Errorf("%s: %s: the default %g is not from %g to %g", f.Name, p.Name, *p.Default, p.Min, p.Max)
			}
		}
		switch f.On {
		case OnNothing, OnHolder, OnNext, OnServers:
			if f.Steps == nil || f.Shape == "" {
				t.Errorf("%s: no steps or no shape", f.Name)
			}
		case OnProcess:
		default:
			t.Errorf("%s: on %q", f.Name, f.On)
		}
		if f.Shape == ShapeWait != (f.On == OnNext) {
			t.Errorf("%s: on %s with the script %q", f.Name, f.On, f.Shape)
		}
	}
}

// TestParam: what the user has set, the default, or what depends on the lock.
func TestParam(t *testing.T) {
	f := Fault{Params: []Param{{Name: "a_ms", Default: ptr(3)}, {Name: "b_ms"}}}
	for _, x := range []struct {
		name string
		set  map[string]float64
		want float64
	}{{"a_ms", nil, 3}, {"a_ms", map[string]float64{"a_ms": 0}, 0}, {"b_ms", nil, 7}, {"b_ms", map[string]float64{"b_ms": 5}, 5}} {
		s := &Stage{Fault: f, Set: x.set}
		if got := s.Param(x.name, 7); got != x.want {
			t.Errorf("%s of %v: got %g, want %g", x.name, x.set, got, x.want)
		}
	}
}

// TestTimesOf: pauses and cuts last longer than the TTL, whatever that is.
func TestTimesOf(t *testing.T) {
	for _, x := range []struct {
		service      string
		asked, least time.Duration
		f            Fault
		want         Times
	}{
		{"redis", 0, 0, Fault{}, Times{time.Second, 0, 2 * time.Second}},
		{"redis", 3 * time.Second, 0, Fault{}, Times{3 * time.Second, 0, 4 * time.Second}},
		{"redis", 100 * time.Millisecond, 0, Fault{}, Times{100 * time.Millisecond, 0, 1100 * time.Millisecond}},
		{"redis", 0, 0, Fault{TTL: 4 * time.Second}, Times{4 * time.Second, 0, 5 * time.Second}},
		{"etcd", time.Second, 2 * time.Second, Fault{}, Times{2 * time.Second, 500 * time.Millisecond, 3500 * time.Millisecond}},
		{"zookeeper", 0, time.Second, Fault{}, Times{2 * time.Second, 500 * time.Millisecond, 3500 * time.Millisecond}},
		{"postgres", 0, 0, Fault{}, Times{time.Second, 0, 3 * time.Second}},
		{"postgres", 5 * time.Second, 0, Fault{}, Times{5 * time.Second, 0, 6 * time.Second}},
	} {
		if got := TimesOf(x.service, x.asked, x.least, x.f); got != x.want {
			t.Errorf("%s, asked for %v, at least %v, fault %v: got %v, want %v", x.service, x.asked, x.least, x.f.TTL, got, x.want)
		}
	}
}
