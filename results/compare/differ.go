package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/results"
)

// A Difference is something about host, toolchain, program or servers that two sides
// differ in.
type Difference struct{ What, Old, New string }

// Differences are those between two runs; none if their figures come from one
// host and one toolchain. gate refuses a verdict over some of them.
func Differences(old, new *results.RunReport) []Difference {
	return differences([]*results.RunReport{old}, []*results.RunReport{new})
}

// differences between sides whose runs are alike among themselves.
func differences(old, new []*results.RunReport) []Difference {
	x, y := facts(old[0]), facts(new[0])
	var out []Difference
	for _, what := range factOrder(x, y) {
		a, b := x[what], y[what]
		if a != b {
			out = append(out, Difference{what, known(a), known(b)})
		}
	}
	return out
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return results.Printable(s)
}

// hostFacts are the facts of internal/host.Info that figures depend on, by their
// JSON names. What changes from minute to minute (load) is not among them.
var hostFacts = []struct{ json, what string }{
	{"cpu_model", "CPU model"}, {"cpu_vendor", "CPU vendor"}, {"arch", "architecture"},
	{"logical_cpus", "logical CPUs"}, {"allowed_cpus", "usable CPUs"}, {"packages", "sockets"}, {"cores", "cores"},
	{"numa_nodes", "NUMA nodes"}, {"smt", "SMT"}, {"topology", "topology"}, {"caches", "caches"},
	{"governor", "governor"}, {"turbo", "turbo"}, {"freq_max_hz", "highest frequency"}, {"unequal_cores", "unequal cores"},
	{"invariant_tsc", "invariant TSC"}, {"clock_source", "clock source"},
	{"virtualized", "virtualization"}, {"hypervisor", "hypervisor"}, {"container", "container"}, {"cgroup", "limits of the cgroup"},
	{"mem_total_bytes", "memory"}, {"transparent_huge_pages", "huge pages"}, {"on_battery", "on battery"},
	{"os", "operating system"}, {"kernel", "kernel"},
}

// facts of a run, by what they are called. "" and absent: unknown.
func facts(r *results.RunReport) map[string]string {
	f := map[string]string{}
	var host map[string]json.RawMessage
	// A host of another shape has no facts, like one that is absent.
	if b, err := json.Marshal(r.Run.Host); err == nil && json.Unmarshal(b, &host) == nil {
		for _, h := range hostFacts {
			f[h.what] = plain(host[h.json])
		}
		var bytes float64
		if json.Unmarshal(host["mem_total_bytes"], &bytes) == nil && bytes > 0 {
			// The kernel's own share varies a little from boot to boot.
			f["memory"] = fmt.Sprintf("%.1f GiB", bytes/(1<<30))
		}
	}
	g, p := r.Run.Go, r.Run.Program
	f["Go version"] = g.Version
	f["GOOS/GOARCH"] = strings.Trim(g.GOOS+"/"+g.GOARCH, "/")
	for k, v := range g.Build {
		if !strings.HasPrefix(k, "vcs") && k != "GOOS" && k != "GOARCH" {
			f["build setting "+k] = v
		}
	}
	f["program"] = p.Path
	f["program version"] = p.String()
	if p.Protocol > 0 {
		f["cell protocol"] = fmt.Sprint(p.Protocol)
	}
	f["clock"] = r.Run.Clock.Kind
	return f
}

// plain is a JSON value as a person would write it, objects and lists as they
// are. Maps come in order of their keys.
func plain(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	switch x := v.(type) {
	case string:
		return x
	case bool:
		return map[bool]string{true: "yes", false: "no"}[x]
	case float64:
		return fmt.Sprintf("%.0f", x)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// factOrder is the host's facts, then the others by name.
func factOrder(x, y map[string]string) []string {
	all := map[string]bool{}
	for _, m := range []map[string]string{x, y} {
		for k := range m {
			all[k] = true
		}
	}
	var order []string
	for _, h := range hostFacts {
		if all[h.what] {
			order = append(order, h.what)
			delete(all, h.what)
		}
	}
	return append(order, slices.Sorted(maps.Keys(all))...)
}
