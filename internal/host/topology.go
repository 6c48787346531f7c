package host

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// topology reads where each online CPU sits. Without sysfs every CPU counts as
// a core of its own in one package.
func topology(i *Info, r reader) {
	online, err := r.get(cpuDir + "/online")
	var ids []int
	if err == nil {
		ids, err = parseCPUs(online)
	}
	if err != nil || len(ids) == 0 {
		if err != nil {
			i.absent("topology", err.Error())
		}
		for id := range i.LogicalCPUs {
			i.Topology = append(i.Topology, CPU{ID: id, Core: id, L3: -1})
		}
		return
	}
	i.LogicalCPUs = len(ids)
	nodes := numaNodes(i, r)
	partial := ""
	for _, id := range ids {
		c, err := readCPU(r, id)
		if err != nil {
			partial = err.Error()
		}
		c.Node = nodes[id]
		i.Topology = append(i.Topology, c)
	}
	if partial != "" {
		i.absent("topology", "in part: "+partial)
		return
	}
	packages, cores, smt := map[int]bool{}, map[int]bool{}, false
	for _, c := range i.Topology {
		packages[c.Package], cores[c.Core] = true, true
		smt = smt || c.Thread > 0
	}
	i.Packages, i.Cores, i.SMT = len(packages), len(cores), &smt
}

// readCPU reads one CPU. After an error the CPU counts as a core of its own.
func readCPU(r reader, id int) (CPU, error) {
	c := CPU{ID: id, Core: id, L3: -1}
	dir := fmt.Sprintf("%s/cpu%d", cpuDir, id)
	if l3, err := sharers(r, dir, 3); err == nil {
		c.L3 = l3[0]
	}
	pkg, err := r.integer(dir + "/topology/physical_package_id")
	if err != nil {
		return c, err
	}
	c.Package = max(int(pkg), 0) // -1 on boards that do not number their only package
	// core_cpus_list is the new name of thread_siblings_list (Linux 5.3).
	list, err := r.get(dir + "/topology/core_cpus_list")
	if err != nil {
		list, err = r.get(dir + "/topology/thread_siblings_list")
	}
	if err != nil {
		return c, err
	}
	siblings, err := parseCPUs(list)
	if err != nil {
		return c, fmt.Errorf("/%s/topology: %w", dir, err)
	}
	if at := slices.Index(siblings, id); at >= 0 {
		c.Core, c.Thread = siblings[0], at
	}
	return c, nil
}

// sharers lists the CPUs that share the cache of a level with the CPU at dir;
// at least one.
func sharers(r reader, dir string, level int64) ([]int, error) {
	for n := range 8 { // index0 to index3 or 4 exist
		cache := fmt.Sprintf("%s/cache/index%d", dir, n)
		have, err := r.integer(cache + "/level")
		if err != nil {
			return nil, err
		}
		if have != level {
			continue
		}
		list, err := r.get(cache + "/shared_cpu_list")
		if err != nil {
			return nil, err
		}
		cpus, err := parseCPUs(list)
		if err == nil && len(cpus) == 0 {
			err = fmt.Errorf("/%s: shared by no CPU", cache)
		}
		return cpus, err
	}
	return nil, fmt.Errorf("/%s: no cache of level %d", dir, level)
}

// numaNodes maps CPUs to nodes; CPUs of unknown node to 0.
func numaNodes(i *Info, r reader) map[int]int {
	out := map[int]int{}
	const dir = "sys/devices/system/node"
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil {
		i.absent("numa_nodes", "/"+dir+" cannot be read")
		return out
	}
	for _, e := range entries {
		num, ok := strings.CutPrefix(e.Name(), "node")
		n, err := strconv.Atoi(num)
		if !ok || err != nil {
			continue
		}
		list, err := r.get(path.Join(dir, e.Name(), "cpulist"))
		if err != nil {
			continue
		}
		cpus, err := parseCPUs(list)
		if err != nil || len(cpus) == 0 {
			continue // memory without CPUs is a node, too, but not for us
		}
		i.NUMANodes++
		for _, c := range cpus {
			out[c] = n
		}
	}
	return out
}

// caches reads the caches of the first CPU.
func caches(i *Info, r reader) {
	if len(i.Topology) == 0 {
		return
	}
	dir := fmt.Sprintf("%s/cpu%d/cache", cpuDir, i.Topology[0].ID)
	for n := range 8 {
		index := fmt.Sprintf("%s/index%d", dir, n)
		level, err := r.integer(index + "/level")
		if err != nil {
			break
		}
		c := Cache{Level: int(level)}
		c.Type, _ = r.get(index + "/type")
		size, _ := r.get(index + "/size")
		c.SizeBytes = parseSize(size)
		line, _ := r.integer(index + "/coherency_line_size")
		c.LineBytes = int(line)
		list, _ := r.get(index + "/shared_cpu_list")
		cpus, _ := parseCPUs(list)
		c.CPUs = len(cpus)
		i.Caches = append(i.Caches, c)
	}
	if len(i.Caches) == 0 {
		i.absent("caches", "/"+dir+" has none")
	}
}

// parseSize reads "32K" and "16M"; 0 = unknown.
func parseSize(s string) int64 {
	num := strings.TrimRight(s, "KMG")
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	switch strings.TrimPrefix(s, num) {
	case "K":
		return n << 10
	case "M":
		return n << 20
	case "G":
		return n << 30
	}
	return n
}
