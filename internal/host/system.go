package host

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memory reads the total memory and the huge page mode.
func memory(i *Info, r reader) {
	text, err := r.get("proc/meminfo")
	if err != nil {
		i.absent("mem_total_bytes", err.Error())
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				i.absent("mem_total_bytes", fmt.Sprintf("/proc/meminfo: %q is not a size", short(strings.TrimSpace(rest))))
			}
			i.MemTotalBytes = kib << 10
		}
	}
	// "always [madvise] never": the chosen one is in brackets.
	modes := r.text("sys/kernel/mm/transparent_hugepage/enabled", i, "transparent_huge_pages")
	if _, after, ok := strings.Cut(modes, "["); ok {
		i.HugePages, _, _ = strings.Cut(after, "]")
	}
}

// load reads how busy the machine is with other work.
func load(i *Info, r reader) {
	text := r.text("proc/loadavg", i, "load_1min")
	if first, _, _ := strings.Cut(text, " "); first != "" {
		if l, err := strconv.ParseFloat(first, 64); err == nil {
			i.Load1 = &l
		} else {
			i.absent("load_1min", fmt.Sprintf("/proc/loadavg: %q is not a number", short(first)))
		}
	}
	t, err := cpuTicks(r)
	if err != nil {
		i.absent("steal_boot_pct", err.Error())
		return
	}
	if t.Total > 0 {
		pct := 100 * float64(t.Steal) / float64(t.Total)
		i.StealPct = &pct
	}
}

// Ticks is processor time since boot of all CPUs together, in ticks of 1/100 s.
type Ticks struct {
	Steal uint64 // taken by the hypervisor
	Busy  uint64 // used by programs and the kernel
	Total uint64 // all, idle time included
}

// Minus returns what was added since an earlier reading.
func (t Ticks) Minus(u Ticks) Ticks {
	return Ticks{t.Steal - u.Steal, t.Busy - u.Busy, t.Total - u.Total}
}

// cpuTicks reads the first line of /proc/stat: "cpu user nice system idle
// iowait irq softirq steal guest guest_nice". Guest time is in user and nice
// already. The numbers are ticks of 1/100 s, of all CPUs together.
func cpuTicks(r reader) (t Ticks, err error) {
	text, err := r.get("proc/stat")
	if err != nil {
		return t, err
	}
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return t, fmt.Errorf("/proc/stat: %q has no steal time", short(line))
	}
	for n, s := range f[1:9] {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %q is not a number", short(s))
		}
		t.Total += v
		switch n {
		case 3, 4: // idle, waiting for input or output
		case 7:
			t.Steal = v
		default:
			t.Busy += v
		}
	}
	return t, nil
}

// battery finds out whether the machine runs on one now.
func battery(i *Info, r reader) {
	const dir = "sys/class/power_supply"
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil {
		i.absent("on_battery", "/"+dir+" cannot be read")
		return
	}
	on := false
	for _, e := range entries {
		kind, _ := r.get(path.Join(dir, e.Name(), "type"))
		scope, _ := r.get(path.Join(dir, e.Name(), "scope"))
		status, _ := r.get(path.Join(dir, e.Name(), "status"))
		// Scope "Device" is the battery of a mouse or keyboard.
		on = on || kind == "Battery" && scope != "Device" && status == "Discharging"
	}
	i.OnBattery = &on
}
