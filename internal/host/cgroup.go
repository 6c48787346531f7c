package host

import (
	"path"
	"strconv"
	"strings"
)

const cgroupDir = "sys/fs/cgroup"

// cgroups reads the limits of the control groups. /proc/self/cgroup has lines
// "id:controllers:path"; version 2 is the line with no controllers. Both may be
// mounted at once, each with some of the controllers.
func cgroups(i *Info, r reader) {
	text, err := r.get("proc/self/cgroup")
	if err != nil {
		i.absent("cgroup", err.Error())
		return
	}
	v1 := map[string]string{} // controller -> group
	v2, hasV2 := "", false
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" {
			v2, hasV2 = parts[2], true
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			v1[c] = parts[2]
		}
	}
	c := &i.Cgroup
	if _, ok := v1["cpu"]; ok {
		c.Version = 1
		limitsV1(c, r, v1)
		return
	}
	if !hasV2 {
		i.absent("cgroup", "/proc/self/cgroup has no group")
		return
	}
	c.Version = 2
	limitsV2(c, r, v2)
}

func limitsV2(c *Cgroup, r reader, group string) {
	for _, dir := range upward(cgroupDir, group) {
		if text, err := r.get(dir + "/cpu.max"); err == nil {
			if f := strings.Fields(text); len(f) == 2 {
				tighten(&c.QuotaCPUs, f[0], f[1])
			}
		}
		if n, err := r.integer(dir + "/memory.max"); err == nil {
			tightenMemory(&c.MemoryBytes, n)
		}
		if list, err := r.get(dir + "/cpuset.cpus.effective"); err == nil && c.CPUs == nil {
			c.CPUs, _ = parseCPUs(list) // the innermost is the tightest
		}
	}
}

func limitsV1(c *Cgroup, r reader, groups map[string]string) {
	for _, mount := range []string{"cpu", "cpu,cpuacct"} {
		for _, dir := range upward(path.Join(cgroupDir, mount), groups["cpu"]) {
			quota, err1 := r.get(dir + "/cpu.cfs_quota_us")
			period, err2 := r.get(dir + "/cpu.cfs_period_us")
			if err1 == nil && err2 == nil {
				tighten(&c.QuotaCPUs, quota, period)
			}
		}
	}
	for _, dir := range upward(path.Join(cgroupDir, "memory"), groups["memory"]) {
		if n, err := r.integer(dir + "/memory.limit_in_bytes"); err == nil {
			tightenMemory(&c.MemoryBytes, n)
		}
	}
	for _, dir := range upward(path.Join(cgroupDir, "cpuset"), groups["cpuset"]) {
		if list, err := r.get(dir + "/cpuset.cpus"); err == nil && c.CPUs == nil {
			c.CPUs, _ = parseCPUs(list)
		}
	}
}

// upward lists the directories of a group and its parents, innermost first. In
// a container the group's path may be the host's, and only the mount exists:
// then the others are not found, and the mount itself is the group.
func upward(mount, group string) []string {
	var out []string
	for g := path.Clean("/" + group); ; g = path.Dir(g) {
		out = append(out, path.Join(mount, g))
		if g == "/" {
			return out
		}
	}
}

// tighten keeps the smaller quota; "max" and -1 are no limit.
func tighten(have **float64, quota, period string) {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return
	}
	if cpus := q / p; *have == nil || cpus < **have {
		*have = &cpus
	}
}

// tightenMemory keeps the smaller limit. Version 1 writes "no limit" as the
// largest number of pages.
func tightenMemory(have **int64, n int64) {
	const noLimit = 1 << 60
	if n > 0 && n < noLimit && (*have == nil || n < **have) {
		*have = &n
	}
}
