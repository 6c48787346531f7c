package host

import (
	"fmt"
	"strings"
)

// A Doubt is something about a host that makes figures less trustworthy, in
// plain words.
type Doubt struct {
	What   string `json:"what"`   // "virtual machine (KVM)"
	Why    string `json:"why"`    // what it does to figures
	Remedy string `json:"remedy"` // what the user can do
}

// String is one line, for the header of a results file.
func (d Doubt) String() string { return d.What + ": " + d.Why }

// Limits beyond which a fact is a doubt.
const (
	stealLimitPct = 0.5       // since boot; a quiet virtual machine has less than 0.1
	loadLimit     = 0.25      // load average by CPU: a quarter of the machine is busy
	fewCPUs       = 4         // below, most effects of contention among many cannot be seen
	memoryLimit   = 256 << 20 // a child takes up to 96 MiB, the parent and the kernel some
)

// Doubts lists what makes figures from this host doubtful, the worst first.
// Facts that are absent raise none.
func (i Info) Doubts() []Doubt {
	var out []Doubt
	add := func(is bool, what, why, remedy string) {
		if is {
			out = append(out, Doubt{what, why, remedy})
		}
	}
	is := func(b *bool) bool { return b != nil && *b }
	usable := len(i.Usable())

	vm := "virtual machine"
	if i.Hypervisor != "" {
		vm += " (" + i.Hypervisor + ")"
	}
	add(is(i.Virtualized), vm,
		"the cost of passing a cache line can change several-fold within minutes",
		"use bare metal, or compare only locks measured in the same run, and look at coherence_ns and steal_pct")
	add(i.StealPct != nil && *i.StealPct > stealLimitPct, fmt.Sprintf("%.1f %% steal time since boot", value(i.StealPct)),
		"other virtual machines take processor time; a holder that is stopped stops all who wait",
		"use a dedicated or less loaded host")
	add(i.Cgroup.QuotaCPUs != nil && *i.Cgroup.QuotaCPUs < float64(usable), fmt.Sprintf("cgroup quota of %.3g CPUs below the %d CPUs in use", value(i.Cgroup.QuotaCPUs), usable),
		"the kernel stops all threads when it is used up: long latencies are the quota's, not the lock's",
		"remove the CPU limit, or measure with fewer --cores than the quota")
	add(is(i.OnBattery), "running on battery", "the processor saves power and changes its frequency", "connect the power supply")
	add(i.Load1 != nil && usable > 0 && *i.Load1 >= loadLimit*float64(usable), fmt.Sprintf("load average %.2f on %s", value(i.Load1), cpus(usable, "")),
		"other programs compete for the CPUs", "stop them, and measure again")
	add(i.Governor != "" && i.Governor != "performance", "frequency governor "+i.Governor,
		"the clock rate follows the load: a lock that sleeps runs at another rate than one that spins",
		"cpupower frequency-set -g performance")
	add(is(i.Turbo), "turbo is on", "the clock rate depends on heat and busy cores: one worker runs faster than several",
		turboRemedy(i.CPUVendor))
	add(is(i.UnequalCores), "fast and slow cores", "figures depend on which cores the workers get", "choose cores of one kind with taskset")
	add(is(i.SMT), "simultaneous multithreading (SMT) is on", "two workers may share a core: they pass cache lines faster and compute slower than on two cores",
		"--pin scatter uses one CPU a core first; or: echo off | sudo tee /sys/devices/system/cpu/smt/control")
	add(i.Packages > 1 || i.NUMANodes > 1, fmt.Sprintf("%d packages, %d NUMA nodes", max(i.Packages, 1), max(i.NUMANodes, 1)),
		"passing a lock within a node and between nodes differ several-fold", "--pin compact or --pin scatter makes the choice; report which")
	add(i.InvariantTSC != nil && !*i.InvariantTSC, "the time stamp counter is not invariant",
		"the cheap clock cannot be trusted; reading the slower one costs more than many locks", "none on this machine; trust throughput more than latencies")
	add(usable > 0 && usable < fewCPUs, "only "+cpus(usable, "usable "),
		"how locks scale to many cores cannot be seen here", "measure on a machine with more cores")
	add(len(i.AllowedCPUs) > 0 && len(i.AllowedCPUs) < i.LogicalCPUs, fmt.Sprintf("%d of %d CPUs allowed", len(i.AllowedCPUs), i.LogicalCPUs),
		"work on the others may disturb shared caches", "start without taskset, or widen the cpuset")
	add(i.Cgroup.MemoryBytes != nil && *i.Cgroup.MemoryBytes < memoryLimit, "little memory allowed",
		"the kernel may kill or slow the measuring process", "raise the container's memory limit to 256 MiB")
	return out
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

func turboRemedy(vendor string) string {
	if strings.Contains(vendor, "Intel") {
		return "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
	}
	return "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
}

// cpus is "1 CPU" or "2 usable CPUs".
func cpus(n int, which string) string {
	if n == 1 {
		return "1 " + which + "CPU"
	}
	return fmt.Sprintf("%d %sCPUs", n, which)
}
