package host

// Info is what is known about a host. Pointers and empty values are absent
// facts: Absent has the reason under the field's JSON name.
type Info struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"` // release

	CPUModel    string  `json:"cpu_model,omitempty"`
	CPUVendor   string  `json:"cpu_vendor,omitempty"`
	LogicalCPUs int     `json:"logical_cpus"`           // online
	AllowedCPUs []int   `json:"allowed_cpus,omitempty"` // affinity mask of this process
	Packages    int     `json:"packages,omitempty"`     // sockets
	Cores       int     `json:"cores,omitempty"`        // physical
	NUMANodes   int     `json:"numa_nodes,omitempty"`
	SMT         *bool   `json:"smt,omitempty"` // some core runs several logical CPUs
	Topology    []CPU   `json:"topology,omitempty"`
	Caches      []Cache `json:"caches,omitempty"` // of the first CPU

	Governor     string `json:"governor,omitempty"` // of the frequency; "mixed: a, b" if CPUs differ
	Turbo        *bool  `json:"turbo,omitempty"`
	FreqMinHz    int64  `json:"freq_min_hz,omitempty"`
	FreqMaxHz    int64  `json:"freq_max_hz,omitempty"`
	UnequalCores *bool  `json:"unequal_cores,omitempty"` // fast and slow cores in one machine
	InvariantTSC *bool  `json:"invariant_tsc,omitempty"` // amd64 only
	ClockSource  string `json:"clock_source,omitempty"`  // the kernel's

	Virtualized *bool  `json:"virtualized,omitempty"`
	Hypervisor  string `json:"hypervisor,omitempty"`
	Container   string `json:"container,omitempty"` // kind, "" = none found
	Cgroup      Cgroup `json:"cgroup"`

	MemTotalBytes int64    `json:"mem_total_bytes,omitempty"`
	HugePages     string   `json:"transparent_huge_pages,omitempty"` // always, madvise, never
	Load1         *float64 `json:"load_1min,omitempty"`
	StealPct      *float64 `json:"steal_boot_pct,omitempty"` // of all processor time since boot
	OnBattery     *bool    `json:"on_battery,omitempty"`

	Absent map[string]string `json:"absent,omitempty"` // JSON name -> why it could not be read
}

// A CPU is one logical processor. Groups are named by their lowest CPU, which
// is unique on the machine, unlike the kernel's core_id.
type CPU struct {
	ID      int `json:"id"`
	Package int `json:"package"` // socket, as the kernel numbers it
	Node    int `json:"node"`    // NUMA node; 0 where there are none
	L3      int `json:"l3"`      // lowest CPU that shares the last level cache; -1 = unknown
	Core    int `json:"core"`    // lowest CPU of the same core
	Thread  int `json:"thread"`  // 0 for the first SMT sibling of a core, 1 for the second
}

// A Cache of a CPU.
type Cache struct {
	Level     int    `json:"level"`
	Type      string `json:"type"` // Data, Instruction, Unified
	SizeBytes int64  `json:"size_bytes"`
	LineBytes int    `json:"line_bytes,omitempty"`
	CPUs      int    `json:"cpus"` // logical CPUs that share it
}

// Cgroup holds the limits of the control groups around this process: the
// tightest from its own group up to the root.
type Cgroup struct {
	Version     int      `json:"version,omitempty"`    // 1 or 2; 0 = none
	QuotaCPUs   *float64 `json:"quota_cpus,omitempty"` // processor time by wall time; absent = no limit
	CPUs        []int    `json:"cpus,omitempty"`       // cpuset
	MemoryBytes *int64   `json:"memory_bytes,omitempty"`
}

// Usable are the CPUs on which this process may run, with their topology.
func (i Info) Usable() []CPU {
	if len(i.AllowedCPUs) == 0 {
		return i.Topology
	}
	allowed := map[int]bool{}
	for _, id := range i.AllowedCPUs {
		allowed[id] = true
	}
	var out []CPU
	for _, c := range i.Topology {
		if allowed[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

func (i *Info) absent(field, why string) {
	if i.Absent == nil {
		i.Absent = map[string]string{}
	}
	i.Absent[field] = why
}
