package host

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text writes the facts, then the doubts with their remedies, then what could
// not be read, for `lockbench env`.
func (i Info) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range i.facts() {
		fmt.Fprintf(t, "%s\t%s\n", f[0], f[1]) // errors come out of Flush
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	doubts := i.Doubts()
	if len(doubts) == 0 {
		b.WriteString("\nNothing that is known about this host makes figures doubtful.\n")
	} else {
		b.WriteString("\nDoubts:\n")
	}
	for _, d := range doubts {
		fmt.Fprintf(&b, "- %s\n    why:    %s\n    remedy: %s\n", d.What, d.Why, d.Remedy)
	}
	if len(i.Absent) > 0 {
		b.WriteString("\nNot known:\n")
	}
	for _, field := range slices.Sorted(maps.Keys(i.Absent)) {
		fmt.Fprintf(&b, "- %s: %s\n", field, i.Absent[field])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// facts are name and value, without those that are absent.
func (i Info) facts() [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("system", strings.TrimSpace(fmt.Sprintf("%s/%s %s", i.OS, i.Arch, i.Kernel)))
	add("processor", strings.TrimSpace(i.CPUModel))
	cpus := fmt.Sprintf("%d logical", i.LogicalCPUs)
	if len(i.AllowedCPUs) > 0 {
		cpus += fmt.Sprintf(", %d allowed (%s)", len(i.AllowedCPUs), formatCPUs(i.AllowedCPUs))
	}
	add("CPUs", cpus)
	if i.Cores > 0 {
		nodes := ""
		if i.NUMANodes > 0 {
			nodes = fmt.Sprintf(", NUMA nodes: %d", i.NUMANodes)
		}
		add("topology", fmt.Sprintf("packages: %d, cores: %d, SMT %s%s", max(i.Packages, 1), i.Cores, onOff(i.SMT), nodes))
	}
	for _, c := range i.Caches {
		shared := ""
		if c.CPUs > 1 {
			shared = fmt.Sprintf(", shared by %d CPUs", c.CPUs)
		}
		add(fmt.Sprintf("L%d %s cache", c.Level, strings.ToLower(c.Type)), formatBytes(c.SizeBytes)+shared)
	}
	add("governor", i.Governor)
	add("turbo", onOff(i.Turbo))
	if i.FreqMaxHz > 0 {
		add("frequency", fmt.Sprintf("%.2f to %.2f GHz", float64(i.FreqMinHz)/1e9, float64(i.FreqMaxHz)/1e9))
	}
	add("invariant TSC", yesNo(i.InvariantTSC))
	add("clock source", i.ClockSource)
	virtual := yesNo(i.Virtualized)
	if i.Hypervisor != "" {
		virtual += ", " + i.Hypervisor
	}
	add("virtual machine", virtual)
	add("container", i.Container)
	add("cgroup limits", i.Cgroup.String())
	if i.MemTotalBytes > 0 {
		add("memory", formatBytes(i.MemTotalBytes))
	}
	add("huge pages", i.HugePages)
	if i.Load1 != nil {
		add("load average", fmt.Sprintf("%.2f", *i.Load1))
	}
	if i.StealPct != nil {
		add("steal since boot", fmt.Sprintf("%.2f %%", *i.StealPct))
	}
	return out
}

// String is the limits in words, "" without a cgroup.
func (c Cgroup) String() string {
	if c.Version == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("version %d", c.Version)}
	if c.QuotaCPUs != nil {
		parts = append(parts, fmt.Sprintf("%.3g CPUs", *c.QuotaCPUs))
	}
	if len(c.CPUs) > 0 {
		parts = append(parts, "cpuset "+formatCPUs(c.CPUs))
	}
	if c.MemoryBytes != nil {
		parts = append(parts, "memory "+formatBytes(*c.MemoryBytes))
	}
	if c.QuotaCPUs == nil && c.MemoryBytes == nil {
		parts = append(parts, "no limit of time or memory")
	}
	return strings.Join(parts, ", ")
}

// formatCPUs is the inverse of parseCPUs for an ascending list.
func formatCPUs(cpus []int) string {
	var parts []string
	for at := 0; at < len(cpus); {
		end := at
		for end+1 < len(cpus) && cpus[end+1] == cpus[end]+1 {
			end++
		}
		part := strconv.Itoa(cpus[at])
		if end > at {
			part += "-" + strconv.Itoa(cpus[end])
		}
		parts = append(parts, part)
		at = end + 1
	}
	return strings.Join(parts, ",")
}

func formatBytes(n int64) string {
	const units = "KMGT"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return fmt.Sprintf("%.4g %ciB", v, units[u])
}

func onOff(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "on"
	}
	return "off"
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "yes"
	}
	return "no"
}
