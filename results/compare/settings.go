package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/results"
)

// settings are those of a run's spec that its figures depend on. The names are
// those of internal/engine.Spec; what a header does not have is absent.
type settings struct {
	Workloads []map[string]any `json:"workloads"`
	Duration  int64            `json:"duration_ns"`
	Probe     int64            `json:"probe_ns"`
	Warmup    int64            `json:"warmup_ns"`
	Ops       int64            `json:"ops"`
	Every     int64            `json:"sample_every"`
	// Remote is of distributed locks, which have one interval; zero without such cells.
	Remote struct {
		Duration int64 `json:"duration_ns"`
		Warmup   int64 `json:"warmup_ns"`
	} `json:"remote"`
}

// settingsOf reads the header's spec, which is a struct in the program that
// measures and a map when it comes from a file. One of another shape has no
// settings, which alike warns of.
func settingsOf(r *results.RunReport) settings {
	var s settings
	b, err := json.Marshal(r.Run.Spec)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return settings{}
	}
	if s.Probe == 0 {
		s.Probe = s.Duration / 2 // as the engine does
	}
	if !slices.ContainsFunc(r.Sections, (*results.Section).Distributed) {
		s.Remote.Duration, s.Remote.Warmup = 0, 0
	}
	return s
}

func (s *settings) workload(name string) map[string]any {
	for _, w := range s.Workloads {
		if w["name"] == name {
			return w
		}
	}
	return nil
}

// differ says in which setting that makes figures incomparable two runs
// differ, of the named workloads, or of all if only is nil; "" = in none.
func (s settings) differ(t settings, only []string) string {
	if s.Ops != t.Ops {
		return fmt.Sprintf("the amount of work: %s and %s", amount(s), amount(t))
	}
	for _, w := range s.Workloads {
		name := fmt.Sprint(w["name"])
		v := t.workload(name)
		if v == nil || only != nil && !slices.Contains(only, name) {
			continue
		}
		keys := map[string]bool{}
		for _, m := range []map[string]any{w, v} {
			for k := range m {
				keys[k] = true
			}
		}
		// base is where the values came from; workers are in the cell's name.
		delete(keys, "base")
		delete(keys, "workers")
		var what []string
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if x, y := value(w, k), value(v, k); x != y {
				what = append(what, fmt.Sprintf("%s %s and %s", k, x, y))
			}
		}
		if len(what) > 0 {
			return results.Printable(fmt.Sprintf("the workload %s: %s", name, strings.Join(what, "; ")))
		}
	}
	return ""
}

func amount(s settings) string {
	if s.Ops == 0 {
		return "a fixed time"
	}
	return fmt.Sprintf("%d operations", s.Ops)
}

func value(m map[string]any, key string) string {
	v, ok := m[key]
	if !ok {
		return "absent"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(b), `"`)
}

// lengths are the differences in how long and how densely was measured: rates
// and percentiles are estimates of the same, more or less exact.
func (s settings) lengths(t settings) []string {
	var out []string
	span := func(what string, a, b int64) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %v and %v", what, time.Duration(a), time.Duration(b)))
		}
	}
	span("the length of the throughput interval", s.Duration, t.Duration)
	span("the length of the probe interval", s.Probe, t.Probe)
	span("the length of the warm-up", s.Warmup, t.Warmup)
	if s.Remote.Duration > 0 && t.Remote.Duration > 0 {
		span("the length of the interval of distributed locks", s.Remote.Duration, t.Remote.Duration)
		span("the length of their warm-up", s.Remote.Warmup, t.Remote.Warmup)
	}
	if s.Every != t.Every {
		out = append(out, fmt.Sprintf("sampled latencies: one in %d and one in %d", s.Every, t.Every))
	}
	return out
}

// grows reports whether a metric is larger of a longer interval: a maximum, or
// a count.
func grows(m results.Metric) bool {
	return strings.HasSuffix(m.Name, "_rep_max_ns") || strings.HasPrefix(m.Name, "ctx_") ||
		slices.Contains([]string{"lost_leases", "orphans", "deadlocks"}, m.Name)
}

// alike refuses sides that were measured in other ways. keys are the cells of
// interest.
func alike(old, new *Side, a, b *cellSet, keys []cellKey, metrics []results.Metric) error {
	var common []string // workloads
	both := 0
	for _, k := range keys {
		x, y := a.at[k], b.at[k]
		if x != nil && y != nil {
			both++
			if !slices.Contains(common, x.workload) {
				common = append(common, x.workload)
			}
		}
	}
	for _, k := range keys {
		for _, l := range keys {
			if a.at[k] == nil || b.at[k] != nil || b.at[l] == nil || a.at[l] != nil || k.base != l.base || k.clients != l.clients {
				continue
			}
			if k.dispatch != l.dispatch {
				return refuse("measure both with the same --dispatch, or leave such cells out with --filter",
					"%s: dispatch %s in %s and %s in %s: what a call costs is part of the figures", k.base, k.dispatch, old.Label, l.dispatch, new.Label)
			}
			return refuse("measure both with the same threads, or leave such cells out with --filter",
				"%s: threads %s in %s and %s in %s: waiting and waking cost otherwise", k.base, k.threads, old.Label, l.threads, new.Label)
		}
	}
	if both == 0 {
		return refuse(fmt.Sprintf("%s has %s; %s has %s", old.Label, examples(a.order, namedCell), new.Label, examples(b.order, namedCell)),
			"%s and %s have no cell in common", old.Label, new.Label)
	}
	s, t := settingsOf(old.Report.Runs[0]), settingsOf(new.Report.Runs[0])
	if what := s.differ(t, common); what != "" {
		return refuse("measure both with the same settings, or give the workloads names of their own", "%s and %s differ in %s", old.Label, new.Label, what)
	}
	before, after := remoteOf(samplesOf(old.Report.Runs)), remoteOf(samplesOf(new.Report.Runs))
	for _, k := range keys {
		x, hasX := before[k]
		y, hasY := after[k]
		if !hasX || !hasY {
			continue
		}
		if what := remoteDiffer(x, y); what != "" {
			return refuse("measure both on like servers with the same options, or leave such cells out with --filter",
				"%s: %s and %s differ in %s", a.at[k].name, old.Label, new.Label, what)
		}
	}
	if diff := s.lengths(t); len(diff) > 0 {
		for _, m := range metrics {
			if grows(m) {
				return refuse("compare metrics that are rates or percentiles, or measure for equally long",
					"%s grows with how long is measured, and %s and %s differ in %s", m.Name, old.Label, new.Label, diff[0])
			}
		}
	}
	return nil
}

func namedCell(c *cell) Named { return Named{c.name, c.lock, c.workload, c.workers} }

// unitTolerance is how far calibrated work units of two runs may be apart
// before it is said: the median of 20 rounds varies by less.
const unitTolerance = 0.02

// doubts are the warnings about two sides that may be compared.
func doubts(old, new *Side) []string {
	var out []string
	x, y := old.Report.Runs[0], new.Report.Runs[0]
	s, t := settingsOf(x), settingsOf(y)
	for i, set := range []settings{s, t} {
		if side := []*Side{old, new}[i]; len(set.Workloads) == 0 || set.Workloads[0]["section"] == nil {
			out = append(out, side.Label+": the header does not say what its workloads are: it is taken on trust that they are the same")
		}
	}
	for _, d := range s.lengths(t) {
		out = append(out, "measured otherwise: "+d)
	}
	if u, v := x.Run.Calibration.UnitNS, y.Run.Calibration.UnitNS; u > 0 && v > 0 && max(u, v) > (1+unitTolerance)*min(u, v) {
		out = append(out, fmt.Sprintf("a work unit took %.3g and %.3g ns when the sides were calibrated: sections and think times are as long, but not as much work", u, v))
	}
	for _, r := range old.Report.Runs {
		for _, q := range new.Report.Runs {
			if r.Run.RunID != "" && r.Run.RunID == q.Run.RunID {
				out = append(out, fmt.Sprintf("run %s is on both sides: it is compared with itself", r.Run.RunID))
			}
		}
	}
	return out
}
