package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"lockbench/impls"
	"lockbench/internal/cell"
	"lockbench/lock"
	"lockbench/workloads"
)

func machineOf(n int) Machine {
	m := Machine{Masks: true}
	for i := range n {
		m.Compact = append(m.Compact, i)
		m.Scatter = append(m.Scatter, (i*2)%n+i*2/n)
	}
	return m
}

func mustPlan(t *testing.T, s Spec, n int) *Plan {
	t.Helper()
	p, err := NewPlan(s, impls.Catalog(), machineOf(n))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func order(p *Plan) []string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, s.Cell.Name)
	}
	return out
}

func TestSameSeedSamePlan(t *testing.T) {
	s := Default()
	a, b := mustPlan(t, s, 4), mustPlan(t, s, 4)
	if !slices.Equal(order(a), order(b)) {
		t.Error("the same seed gave two orders")
	}
	for i := range a.Steps {
		if a.Steps[i].Seed != b.Steps[i].Seed {
			t.Fatal("the same seed gave two seeds of a repetition")
		}
	}
	s.Seed = 2
	if c := mustPlan(t, s, 4); slices.Equal(order(a), order(c)) || a.Steps[0].Seed == c.Steps[0].Seed {
		t.Error("another seed gave the same plan")
	}
}

// TestRepetitionsAreBlocks: each block of a repetition has every cell once.
func TestRepetitionsAreBlocks(t *testing.T) {
	p := mustPlan(t, Default(), 2)
	n := len(p.Steps) / p.Spec.Reps
	var orders [][]string
	for rep := range p.Spec.Reps {
		block := order(p)[rep*n : (rep+1)*n]
		orders = append(orders, slices.Clone(block))
		slices.Sort(block)
		if len(slices.Compact(block)) != n {
			t.Errorf("repetition %d does not have every cell once", rep)
		}
	}
	if slices.Equal(orders[0], orders[1]) {
		t.Error("two repetitions run in the same order")
	}
}

func TestLocksOfARepetitionMeetTheSameWork(t *testing.T) {
	seeds := map[uint64]string{}
	for _, s := range mustPlan(t, Default(), 2).Steps {
		if s.Rep == 0 && s.Cell.Workload.Name == "moderate" {
			seeds[s.Seed] = s.Cell.Name
		}
	}
	if len(seeds) != 1 {
		t.Errorf("%d seeds for one workload and repetition: %v", len(seeds), seeds)
	}
}

func TestNullIsAlwaysMeasured(t *testing.T) {
	for _, d := range []string{cell.DispatchDirect, cell.DispatchInterface} {
		s := Default()
		s.Locks, s.Dispatch = []string{"mcs"}, d
		for _, c := range mustPlan(t, s, 2).Cells {
			if c.Dispatch != d {
				t.Errorf("dispatch %s: cell %s has %s", d, c.Name, c.Dispatch)
			}
		}
		if p := mustPlan(t, s, 2); p.Cells[0].Lock.Name != "null" || len(p.Cells) != 6 {
			t.Errorf("dispatch %s: %d cells, the first is %s", d, len(p.Cells), p.Cells[0].Name)
		}
	}
}

// bare has no generated loops.
type bare struct{}

func (bare) NewHandle(*lock.Worker) lock.Handle { return bare{} }
func (bare) Lock()                              {}
func (bare) Unlock()                            {}

func TestLockWithoutLoops(t *testing.T) {
	s := Default()
	s.Locks = []string{"bare", "tas"}
	s.Workloads = presets("uncontended")
	cat := append(impls.Catalog(), lock.Info{Name: "bare", Family: "x", Source: "x", New: func(int) (lock.Lock, error) { return bare{}, nil }})
	p, err := NewPlan(s, cat, machineOf(2))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Cells {
		got = append(got, c.Name)
	}
	want := []string{
		"null/workload=uncontended/workers=1", "null/workload=uncontended/workers=1/dispatch=interface",
		"bare/workload=uncontended/workers=1/dispatch=interface", "tas/workload=uncontended/workers=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
}

func TestSkips(t *testing.T) {
	s := Default()
	s.Locks = []string{"peterson", "clh", "mcs", "mcs-abort"}
	s.Workers = []workloads.Count{{N: 3}}
	w := presets("moderate")[0]
	w.Try, w.Name = 10, "tries"
	v := presets("moderate")[0]
	v.Timed, v.Name = 10, "timed"
	s.Workloads = []workloads.Spec{w, v}
	want := map[string]string{
		"peterson/tries": "at most 2", "clh/tries": "TryLock", "mcs/tries": "", "mcs-abort/tries": "", "null/tries": "",
		"peterson/timed": "at most 2", "clh/timed": "LockFor", "mcs/timed": "LockFor", "mcs-abort/timed": "", "null/timed": "",
	}
	p := mustPlan(t, s, 2)
	for _, c := range p.Cells {
		key := c.Lock.Name + "/" + c.Workload.Name
		if w := want[key]; (c.Skip == "") != (w == "") || !strings.Contains(c.Skip, w) {
			t.Errorf("%s: skip %q, want %q", key, c.Skip, w)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("no cells for %v", want)
	}
	for _, st := range p.Steps {
		if st.Cell.Skip != "" {
			t.Errorf("skipped cell %s is in the order", st.Cell.Name)
		}
	}
}

func TestCoresAndPins(t *testing.T) {
	s := Default()
	s.Locks, s.Workloads, s.Cores, s.Pin = []string{"tas"}, presets("moderate"), []int{2, 4}, PinScatter
	for _, c := range mustPlan(t, s, 4).Cells {
		if len(c.CPUs) != c.Cores || len(c.PinCPUs) != c.Cores || !slices.IsSorted(c.CPUs) || c.Workers != c.Cores {
			t.Errorf("%s: %d workers, %d cores, mask %v, pinned to %v", c.Name, c.Workers, c.Cores, c.CPUs, c.PinCPUs)
		}
		if c.Cores == 2 && !slices.Equal(c.PinCPUs, []int{0, 2}) {
			t.Errorf("scatter on 2 of 4: %v", c.PinCPUs)
		}
		if (c.Cores == 2) != strings.Contains(c.Name, "/cores=2") || !strings.Contains(c.Name, "/pin=scatter") {
			t.Errorf("name %q", c.Name)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   string
		hint   string
	}{
		{"unknown lock", func(s *Spec) { s.Locks = []string{"mutx"} }, `unknown lock "mutx"`, "mutex"},
		{"no match", func(s *Spec) { s.Locks = []string{"zz*"} }, `no lock matches`, "list locks"},
		{"bad glob", func(s *Spec) { s.Locks = []string{"[a"} }, `bad pattern`, "patterns"},
		{"cores beyond", func(s *Spec) { s.Cores = []int{3} }, "cores: 3", "env"},
		{"no cores", func(s *Spec) { s.Cores = []int{0} }, "cores: 0", "env"},
		{"no duration", func(s *Spec) { s.Duration = 0 }, "duration", "100ms"},
		{"negative duration", func(s *Spec) { s.Duration = -1 }, "duration", ""},
		{"tiny duration", func(s *Spec) { s.Duration = 5 }, "too short", ""},
		{"negative warm-up", func(s *Spec) { s.Warmup = -1 }, "warmup", ""},
		{"no reps", func(s *Spec) { s.Reps = 0 }, "reps: 0", ""},
		{"sampling", func(s *Spec) { s.Every = 0 }, "sample-every", ""},
		{"dispatch", func(s *Spec) { s.Dispatch = "x" }, "dispatch", ""},
		{"pin", func(s *Spec) { s.Pin = "x" }, "pin", ""},
		{"timeout", func(s *Spec) { s.Timeout = 1 }, "timeout", ""},
		{"few operations", func(s *Spec) { s.Ops = 1 }, "ops: 1", ""},
		{"same name", func(s *Spec) { s.Workloads = append(s.Workloads, s.Workloads[0]) }, "two workloads", ""},
		{"nothing left", func(s *Spec) {
			s.Locks, s.Workers = []string{"peterson"}, []workloads.Count{{N: 3}}
		}, "nothing can be measured", "plan"},
		{"runner's name taken", func(s *Spec) { s.Runners = map[string]string{"mcs": "/x"} }, `a lock named "mcs"`, "another name"},
	} {
		s := Default()
		c.change(&s)
		_, err := NewPlan(s, impls.Catalog(), machineOf(2))
		var u *UsageError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), c.want) || !strings.Contains(u.Hint, c.hint) {
			t.Errorf("%s: error %v, want a usage error with %q and hint %q", c.name, err, c.want, c.hint)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"mcs", "mcs*"}, "mcs mcs-yield mcs-park mcs-abort"},
		{[]string{"null", "t*s"}, "null tas ttas"},
		{[]string{"?as"}, "tas cas"},
	} {
		got, err := Select(impls.Catalog(), c.names)
		var names []string
		for _, i := range got {
			names = append(names, i.Name)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%v: %v, %v: want %s", c.names, names, err, c.want)
		}
	}
	all, err := Select(impls.Merge(impls.Catalog(), impls.Broken()), []string{"all"})
	if err != nil || len(all) != len(impls.Catalog())-len(impls.Distributed())-1 {
		t.Errorf("all: %d locks of %d, %v", len(all), len(impls.Catalog()), err)
	}
	for _, i := range all {
		if i.Family == "broken" || i.Control {
			t.Errorf("all has %s", i.Name)
		}
	}
}
