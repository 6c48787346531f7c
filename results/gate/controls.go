package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lockbench/results"
	"lockbench/results/stat"
)

// hostFacts is what two runs must have in common, named as in
// internal/host.Info.
type hostFacts struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPUModel    string `json:"cpu_model"`
	LogicalCPUs int    `json:"logical_cpus"`
	Cores       int    `json:"cores"`
	Kernel      string `json:"kernel"`
	Governor    string `json:"governor"`
	Turbo       *bool  `json:"turbo"`
	SMT         *bool  `json:"smt"`
	Virtualized *bool  `json:"virtualized"`
	Hypervisor  string `json:"hypervisor"`
	Memory      int64  `json:"mem_total_bytes"`
	Cgroup      struct {
		QuotaCPUs *float64 `json:"quota_cpus"`
	} `json:"cgroup"`
}

// memoryTolerance allows for what kernels and hypervisors keep for themselves
// from one boot to the next.
const memoryTolerance = 0.02

// hostDifferences says why two runs are not of one kind of host, "" if they
// are, and what else differs, which may be what is being compared.
func hostDifferences(old, new *results.RunReport) (why string, notes []string) {
	a, b := factsOf(old), factsOf(new)
	if a.OS == "" && a.CPUModel == "" || b.OS == "" && b.CPUModel == "" {
		return "a file does not say which host it is from", nil
	}
	var diff []string
	text := func(what, x, y string) {
		if x != y {
			diff = append(diff, fmt.Sprintf("%s %s and %s", what, or(x), or(y)))
		}
	}
	text("OS", a.OS, b.OS)
	text("architecture", a.Arch, b.Arch)
	text("GOOS", old.Run.Go.GOOS, new.Run.Go.GOOS)
	text("GOARCH", old.Run.Go.GOARCH, new.Run.Go.GOARCH)
	text("CPU", a.CPUModel, b.CPUModel)
	text("logical CPUs", fmt.Sprint(a.LogicalCPUs), fmt.Sprint(b.LogicalCPUs))
	text("cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores))
	text("kernel", a.Kernel, b.Kernel)
	text("governor", a.Governor, b.Governor)
	text("turbo", flag(a.Turbo), flag(b.Turbo))
	text("SMT", flag(a.SMT), flag(b.SMT))
	text("virtualized", flag(a.Virtualized), flag(b.Virtualized))
	text("hypervisor", a.Hypervisor, b.Hypervisor)
	text("CPU quota", quota(a), quota(b))
	if hi := float64(max(a.Memory, b.Memory)); math.Abs(float64(a.Memory-b.Memory)) > memoryTolerance*hi {
		text("memory", fmt.Sprint(a.Memory>>20, " MiB"), fmt.Sprint(b.Memory>>20, " MiB"))
	}
	text = func(what, x, y string) {
		if x != y {
			notes = append(notes, fmt.Sprintf("the %s differs, which may be what is compared: %s and %s", what, or(x), or(y)))
		}
	}
	text("toolchain", old.Run.Go.Version, new.Run.Go.Version)
	keys := maps.Clone(old.Run.Go.Build)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, new.Run.Go.Build)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !strings.HasPrefix(k, "vcs") { // the program's version says it
			text("build setting "+results.Printable(k), results.Printable(old.Run.Go.Build[k]), results.Printable(new.Run.Go.Build[k]))
		}
	}
	if len(diff) > 0 {
		return "the hosts differ: " + strings.Join(diff, "; "), notes
	}
	return "", notes
}

func factsOf(r *results.RunReport) hostFacts {
	var h hostFacts
	b, err := json.Marshal(r.Run.Host)
	if err != nil || json.Unmarshal(b, &h) != nil {
		return hostFacts{} // a host of another shape has no facts
	}
	for _, p := range []*string{&h.OS, &h.Arch, &h.CPUModel, &h.Kernel, &h.Governor, &h.Hypervisor} {
		*p = results.Printable(*p)
	}
	return h
}

func or(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func flag(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "yes"
	}
	return "no"
}

func quota(h hostFacts) string {
	if h.Cgroup.QuotaCPUs == nil {
		return "none"
	}
	return fmt.Sprintf("%.4g", *h.Cgroup.QuotaCPUs)
}

// What is measured beside a cell to tell a change of the build from one of the
// machine: a lock that does nothing, the standard library's, and what a cache
// line costs.
const (
	controlNull      = "null"
	controlMutex     = "mutex"
	controlCoherence = "coherence_ns"
)

// controlAlpha is the probability that some control of a gate seems to differ
// although none does. It makes a gate inconclusive, never false, so that it
// need not be as small as the gate's own.
const controlAlpha = 0.05

// controls says why the machine may have changed between the two runs, "" if
// nothing shows it. Beside the tested cell, its workload's null and mutex
// cells and its own coherence_ns are held against each other. They agree if
//
//   - their medians differ by no more than the rule's threshold: what the
//     machine did could otherwise be the whole verdict; and
//   - the Mann-Whitney interval does not prove a difference. With this alone few
//     and noisy repetitions would agree always, because they prove nothing; with
//     the medians alone a drift just below the threshold would pass and hide a
//     regression twice as large as allowed.
//
// A rule about null or mutex is held against the others. That they agree does
// not prove that the machine was the same; only a paired session does.
func (f *filesGate) controls(r *Rule, c *fileCell) string {
	for _, name := range []string{controlNull, controlMutex} {
		if c.Lock == name {
			continue
		}
		k := f.control(c, name)
		if k == nil || len(k.old.ok) == 0 || len(k.new.ok) == 0 {
			return fmt.Sprintf("no control: %s was not measured beside it on both sides, so that a change of the machine would look like one of the build;"+
				" measure with --lock %s added, or with lockbench ab", name, name)
		}
		metric := r.Metric
		if name == controlNull || len(figures(metric, k.old.ok)) == 0 || len(figures(metric, k.new.ok)) == 0 {
			// What the harness itself costs is a time an operation; percentiles
			// of nothing are steps of the clock.
			metric, _ = results.LookupMetric("wall_ns_per_op")
		}
		if why := f.differ(r, name+"'s "+metric.Name, figures(metric, k.old.ok), figures(metric, k.new.ok)); why != "" {
			return why
		}
	}
	m, _ := results.LookupMetric(controlCoherence)
	old, new := figures(m, c.old.ok), figures(m, c.new.ok)
	if len(old) == 0 && len(new) == 0 {
		return "" // one core: no line moves
	}
	if len(old) == 0 || len(new) == 0 {
		return "no control: only one side knows its " + controlCoherence
	}
	return f.differ(r, controlCoherence, old, new)
}

// control is the cell of a control lock beside c: in its section, or, of null,
// in one that differs in dispatch or threads, where it is measured once for
// all.
func (f *filesGate) control(c *fileCell, name string) *fileCell {
	if k := f.at[c.place][name]; k != nil {
		return k
	}
	if name != controlNull {
		return nil
	}
	for _, k := range f.cells {
		if k.Lock == name && k.place.apart() == c.place.apart() {
			return k
		}
	}
	return nil
}

// apart is the place without dispatch and threads.
func (p place) apart() place {
	p.variant = strings.ReplaceAll(p.variant, "/dispatch="+p.dispatch, "")
	p.dispatch, p.threads = "", ""
	return p
}

// differ says how a control differs, "" if it does not.
func (f *filesGate) differ(r *Rule, what string, old, new []float64) string {
	a, b := results.NewEstimate(old).Median, results.NewEstimate(new).Median
	apart := math.Abs(math.Log(b) - math.Log(a))
	if a == b {
		apart = 0
	}
	pct := func(log float64) string { return fmt.Sprintf("%.3g %%", 100*math.Expm1(log)) }
	if !(apart <= math.Log1p(r.MaxRegression)) {
		return fmt.Sprintf("the machine changed: the control %s is %s apart, more than the threshold of %s", what, pct(apart), pct(math.Log1p(r.MaxRegression)))
	}
	i := stat.MannWhitney(logs(old), logs(new), controlAlpha/float64(3*max(1, f.tests)))
	if i.OK && (i.Lo > 0 || i.Hi < 0) {
		return fmt.Sprintf("the machine changed: the control %s differs beyond chance, by %s", what, pct(apart))
	}
	return ""
}
