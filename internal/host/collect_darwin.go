package host

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Collect finds out what this host is, as far as sysctl says.
func Collect() Info {
	i := Info{OS: runtime.GOOS, Arch: runtime.GOARCH, LogicalCPUs: runtime.NumCPU()}
	text := func(name, field string) string {
		s, err := unix.Sysctl(name)
		if err != nil {
			i.absent(field, "sysctl "+name+": "+err.Error())
		}
		return s
	}
	number := func(name, field string) int64 {
		// Some of the values have 32 bits, some 64.
		if n, err := unix.SysctlUint64(name); err == nil {
			return int64(n)
		}
		n, err := unix.SysctlUint32(name)
		if err != nil {
			i.absent(field, "sysctl "+name+": "+err.Error())
		}
		return int64(n)
	}
	i.Kernel = text("kern.osrelease", "kernel")
	i.CPUModel = clean(text("machdep.cpu.brand_string", "cpu_model"))
	i.Cores = int(number("hw.physicalcpu", "cores"))
	i.Packages = int(number("hw.packages", "packages"))
	i.MemTotalBytes = number("hw.memsize", "mem_total_bytes")
	if i.Cores > 0 {
		smt := i.LogicalCPUs > i.Cores
		i.SMT = &smt
	}
	if levels := number("hw.nperflevels", "unequal_cores"); levels > 0 {
		unequal := levels > 1
		i.UnequalCores = &unequal
	}
	if vm, err := unix.SysctlUint32("kern.hv_vmm_present"); err == nil {
		yes := vm == 1
		i.Virtualized = &yes
	} else {
		i.absent("virtualized", "sysctl kern.hv_vmm_present: "+err.Error())
	}
	line := number("hw.cachelinesize", "caches")
	for _, c := range []struct {
		name, kind string
		level      int
	}{{"hw.l1dcachesize", "Data", 1}, {"hw.l1icachesize", "Instruction", 1}, {"hw.l2cachesize", "Unified", 2}} {
		if size := number(c.name, "caches"); size > 0 {
			i.Caches = append(i.Caches, Cache{Level: c.level, Type: c.kind, SizeBytes: size, LineBytes: int(line)})
		}
	}
	for id := range i.LogicalCPUs {
		i.Topology = append(i.Topology, CPU{ID: id, Core: id, L3: -1})
	}
	const no = "macOS does not say"
	for _, field := range []string{"topology", "allowed_cpus", "numa_nodes", "governor", "turbo", "freq_max_hz",
		"transparent_huge_pages", "load_1min", "steal_boot_pct", "on_battery", "clock_source"} {
		i.absent(field, no)
	}
	if i.Arch != "amd64" {
		i.absent("invariant_tsc", "only amd64 has a time stamp counter")
	} else {
		i.absent("invariant_tsc", no)
	}
	return i
}

// CPUTicks is not to be had on macOS: ok is false.
func CPUTicks() (t Ticks, ok bool) { return Ticks{}, false }
