package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"lockbench/internal/golden"

	"github.com/google/go-cmp/cmp"
)

// tree builds a file system from "path", "content" pairs.
func tree(pairs ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fs[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1] + "\n")}
	}
	return fs
}

// addCPU adds a CPU with its siblings and its third level cache.
func addCPU(fs fstest.MapFS, id, pkg int, siblings, l3, governor string, maxKHz int) {
	dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", id)
	put := func(name, content string) { fs[dir+name] = &fstest.MapFile{Data: []byte(content + "\n")} }
	put("topology/physical_package_id", fmt.Sprint(pkg))
	put("topology/core_cpus_list", siblings)
	for n, c := range []struct{ level, kind, size, cpus string }{
		{"1", "Data", "32K", siblings}, {"1", "Instruction", "32K", siblings}, {"2", "Unified", "1024K", siblings}, {"3", "Unified", "22528K", l3},
	} {
		at := fmt.Sprintf("cache/index%d/", n)
		put(at+"level", c.level)
		put(at+"type", c.kind)
		put(at+"size", c.size)
		put(at+"coherency_line_size", "64")
		put(at+"shared_cpu_list", c.cpus)
	}
	if governor != "" {
		put("cpufreq/scaling_governor", governor)
		put("cpufreq/cpuinfo_min_freq", "1000000")
		put("cpufreq/cpuinfo_max_freq", fmt.Sprint(maxKHz))
	}
}

// intelTwoSockets: bare metal, 2 sockets of 2 cores of 2 threads. CPUs 0-3 are
// the first threads, 4-7 their siblings, as Linux numbers them.
func intelTwoSockets() Source {
	fs := tree(
		"proc/sys/kernel/osrelease", "6.8.0-31-generic",
		"proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n\nprocessor\t: 1",
		"proc/meminfo", "MemTotal:       196608000 kB\nMemFree: 5 kB",
		"proc/loadavg", "0.08 0.03 0.01 1/234 5678",
		"proc/stat", "cpu  1000 0 500 98500 0 0 0 0 0 0\ncpu0 1 2 3",
		"proc/1/cgroup", "0::/init.scope",
		"proc/self/cgroup", "0::/user.slice/session-1.scope",
		"sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory",
		"sys/fs/cgroup/user.slice/cpu.max", "max 100000",
		"sys/fs/cgroup/user.slice/memory.max", "max",
		"sys/fs/cgroup/cpuset.cpus.effective", "0-7",
		"sys/devices/system/cpu/online", "0-7",
		"sys/devices/system/cpu/intel_pstate/no_turbo", "0",
		"sys/devices/system/node/node0/cpulist", "0-1,4-5",
		"sys/devices/system/node/node1/cpulist", "2-3,6-7",
		"sys/devices/system/node/has_cpu", "0-1",
		"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc",
		"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never",
		"sys/class/power_supply/.keep", "",
	)
	for core := range 4 {
		pkg := core / 2
		l3 := []string{"0-1,4-5", "2-3,6-7"}[pkg]
		for _, id := range []int{core, core + 4} {
			addCPU(fs, id, pkg, fmt.Sprintf("%d,%d", core, core+4), l3, "powersave", 3700000)
		}
	}
	return Source{Root: fs, OS: "linux", Arch: "amd64", CPUs: 8, CPUModel: "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", CPUVendor: "GenuineIntel",
		Affinity: func() ([]int, error) { return []int{0, 1, 2, 3, 4, 5, 6, 7}, nil }}
}

// amdVM: two virtual CPUs that share a core, no cpufreq, some steal.
func amdVM() Source {
	fs := tree(
		"proc/sys/kernel/osrelease", "6.1.0",
		"proc/cpuinfo", "processor : 0\nmodel name : AMD EPYC\nflags : fpu constant_tsc nonstop_tsc hypervisor",
		"proc/meminfo", "MemTotal:        8152500 kB",
		"proc/loadavg", "1.50 0.9 0.5 2/100 77",
		"proc/stat", "cpu  5000 0 1000 90000 0 0 0 4000 0 0",
		"proc/1/cgroup", "0::/",
		"proc/self/cgroup", "0::/",
		".dockerenv", "",
		"sys/devices/system/cpu/online", "0-1",
		"sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock",
	)
	addCPU(fs, 0, 0, "0-1", "0-1", "", 0)
	addCPU(fs, 1, 0, "0-1", "0-1", "", 0)
	return Source{Root: fs, OS: "linux", Arch: "amd64", CPUs: 2, CPUModel: "AMD EPYC  ", CPUVendor: "AuthenticAMD", Hypervisor: "KVMKVMKVM", InVM: true,
		Affinity: func() ([]int, error) { return []int{0, 1}, nil }}
}

// cgroupV2: a pod with a quota of 1.5 CPUs and 200 MiB, on a laptop on battery
// with fast and slow cores.
func cgroupV2() Source {
	fs := tree(
		"proc/sys/kernel/osrelease", "6.9.1",
		"proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : 12th Gen  Intel(R) Core(TM)\nflags : fpu constant_tsc",
		"proc/loadavg", "0.10 0.1 0.1 1/2 3",
		"proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0",
		"proc/1/cgroup", "0::/kubepods/burstable/pod1",
		"proc/self/cgroup", "0::/kubepods/burstable/pod1",
		"sys/fs/cgroup/kubepods/burstable/pod1/cpu.max", "150000 100000",
		"sys/fs/cgroup/kubepods/burstable/pod1/memory.max", "209715200",
		"sys/fs/cgroup/kubepods/burstable/pod1/cpuset.cpus.effective", "0-2",
		"sys/fs/cgroup/kubepods/cpu.max", "400000 100000",
		"sys/fs/cgroup/kubepods/memory.max", "8589934592",
		"sys/fs/cgroup/kubepods/cpuset.cpus.effective", "0-3",
		"sys/devices/system/cpu/online", "0-3",
		"sys/devices/system/cpu/cpufreq/boost", "0",
		"sys/class/power_supply/BAT0/type", "Battery",
		"sys/class/power_supply/BAT0/status", "Discharging",
		"sys/class/power_supply/mouse/type", "Battery",
		"sys/class/power_supply/mouse/scope", "Device",
	)
	for id := range 4 {
		khz := 4800000
		governor := "performance"
		if id >= 2 {
			khz, governor = 3300000, "schedutil"
		}
		addCPU(fs, id, 0, fmt.Sprint(id), "0-3", governor, khz)
	}
	return Source{Root: fs, OS: "linux", Arch: "amd64", CPUs: 4, Affinity: func() ([]int, error) { return []int{0, 1, 2}, nil }}
}

// cgroupV1: an Arm server with the old control groups and an old kernel's
// names; the container sees the host's paths, and only the mount itself.
func cgroupV1() Source {
	fs := tree(
		"proc/sys/kernel/osrelease", "4.19.0",
		"proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
		"proc/meminfo", "MemTotal: lots",
		"proc/loadavg", "none",
		"proc/stat", "cpu 1 2 3",
		"proc/1/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc",
		"proc/self/cgroup", "5:cpuset:/docker/abc\n4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/system.slice",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000",
		"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712",
		"sys/fs/cgroup/cpuset/cpuset.cpus", "0",
		"sys/devices/system/cpu/online", "0-1",
		"sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1",
		"sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0",
		"sys/devices/system/cpu/cpu1/topology/physical_package_id", "-1",
		"sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1",
		"sys/class/dmi/id/product_name", "KVM Virtual Machine",
	)
	return Source{Root: fs, OS: "linux", Arch: "arm64", CPUs: 2, Affinity: func() ([]int, error) { return nil, errors.New("not permitted") }}
}

// TestHosts compares facts (as JSON) and text with golden files.
func TestHosts(t *testing.T) {
	for name, src := range map[string]Source{
		"intel-2-sockets": intelTwoSockets(), "amd-vm": amdVM(), "cgroup-v2": cgroupV2(), "cgroup-v1": cgroupV1(),
		"nothing": {Root: fstest.MapFS{}, OS: "linux", Arch: "amd64", CPUs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			info := From(src)
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetIndent("", " ")
			if err := enc.Encode(info); err != nil {
				t.Fatal(err)
			}
			out.WriteString("\n")
			if err := info.Text(&out); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join("testdata", name+".golden"), out.Bytes())
		})
	}
}

func TestDoubts(t *testing.T) {
	for _, tc := range []struct {
		name string
		src  Source
		want []string // beginnings of What, in order
	}{
		{"intel-2-sockets", intelTwoSockets(), []string{"frequency governor powersave", "turbo is on", "simultaneous", "2 packages, 2 NUMA"}},
		{"amd-vm", amdVM(), []string{"virtual machine (KVM)", "4.0 % steal", "load average 1.50 on 2", "simultaneous", "only 2 usable"}},
		{"cgroup-v2", cgroupV2(), []string{"cgroup quota of 1.5 CPUs below the 3", "running on battery", "frequency governor mixed: performance, schedutil",
			"fast and slow cores", "the time stamp counter", "only 3 usable", "3 of 4 CPUs allowed", "little memory"}},
		{"cgroup-v1", cgroupV1(), []string{"virtual machine (KVM)", "cgroup quota of 0.5 CPUs", "only 2 usable"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := From(tc.src).Doubts()
			for n, d := range got {
				if d.Why == "" || d.Remedy == "" {
					t.Errorf("%q lacks a reason or a remedy", d.What)
				}
				if n >= len(tc.want) || !strings.HasPrefix(d.What, tc.want[n]) {
					t.Errorf("doubt %d: got %q, want one of %q", n, d.What, tc.want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("got %d doubts, want %d", len(got), len(tc.want))
			}
		})
	}
}

// TestThisHost only proves that nothing fails here, whatever this host is.
func TestThisHost(t *testing.T) {
	info := Collect()
	if info.LogicalCPUs < 1 || len(info.Topology) < 1 {
		t.Errorf("got %d CPUs, topology %v", info.LogicalCPUs, info.Topology)
	}
	var out bytes.Buffer
	if err := info.Text(&out); err != nil || out.Len() == 0 {
		t.Errorf("text: %q, %v", out.String(), err)
	}
	if k, ok := CPUTicks(); ok && k.Steal+k.Busy > k.Total {
		t.Errorf("steal and busy are more than all: %+v", k)
	}
}

func TestCPUTicks(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Ticks
		ok   bool
	}{
		{"cpu  1 2 3 4 5 6 7 8 9 10", Ticks{8, 19, 36}, true},
		{"cpu  1 2 3 4 5 6 7 8", Ticks{8, 19, 36}, true},
		{"cpu  1 2 3 4 5 6 7", Ticks{}, false},
		{"cpu  1 2 3 4 x 6 7 8", Ticks{}, false},
		{"intr 1 2 3 4 5 6 7 8", Ticks{}, false},
		{"", Ticks{}, false},
	} {
		got, err := cpuTicks(reader{tree("proc/stat", tc.in)})
		if got != tc.want && tc.ok || (err == nil) != tc.ok {
			t.Errorf("%q: got %+v, %v; want %+v, ok %v", tc.in, got, err, tc.want, tc.ok)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []int
		ok   bool
	}{
		{"0-3,8,10-11\n", []int{0, 1, 2, 3, 8, 10, 11}, true},
		{"5", []int{5}, true},
		{"", nil, true},
		{"3-1", nil, false},
		{"-1", nil, false},
		{"a", nil, false},
		{"0-999999999", nil, false},
	} {
		got, err := parseCPUs(tc.in)
		if !cmp.Equal(got, tc.want) || (err == nil) != tc.ok {
			t.Errorf("parseCPUs(%q): got %v, %v; want %v, ok %v", tc.in, got, err, tc.want, tc.ok)
		}
		if tc.ok && formatCPUs(got) != strings.TrimSpace(tc.in) {
			t.Errorf("formatCPUs(%v): got %q, want %q", got, formatCPUs(got), strings.TrimSpace(tc.in))
		}
	}
}

// FuzzFiles puts the same bytes into every file that is parsed.
func FuzzFiles(f *testing.F) {
	f.Add("0-3")
	f.Add("cpu  1 2 3 4 5 6 7 8")
	f.Add("1:cpu:/a\n0::/../..")
	f.Add("[")
	f.Fuzz(func(t *testing.T, s string) {
		src := intelTwoSockets()
		for _, file := range src.Root.(fstest.MapFS) {
			file.Data = []byte(s)
		}
		info := From(src)
		if _, err := json.Marshal(info); err != nil {
			t.Errorf("files %q: %v", s, err)
		}
		info.Doubts()
	})
}
