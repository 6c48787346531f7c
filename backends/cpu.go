package backends

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// CPU returns the CPU time that the servers have used since each was last started; ok is
// false if the cluster is not in containers, or one does not tell.
func (c *Cluster) CPU(ctx context.Context) (used time.Duration, ok bool) {
	for _, n := range c.nodes {
		u, ok := n.CPU(ctx)
		if !ok {
			return 0, false
		}
		used += u
	}
	return used, len(c.nodes) > 0
}

// CPU returns the CPU time that the server has used since it was last started.
func (n *Node) CPU(ctx context.Context) (used time.Duration, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cpu == "" {
		n.cpu = n.findCPU(ctx)
	}
	// The kernel's file takes microseconds to read. Docker's answer comes from the same file, some
	// milliseconds later.
	if n.cpu != "" {
		if used, err := readCPU(n.cpu); err == nil {
			return used, true
		}
	}
	return n.askCPU(ctx)
}

// findCPU returns the file of the container's control group, if this process sees it: it
// does where Docker runs on the same kernel and in the same namespaces.
func (n *Node) findCPU(ctx context.Context) string {
	r, err := n.c.eng.cli.ContainerInspect(ctx, n.container, client.ContainerInspectOptions{})
	if err != nil || r.Container.State == nil || r.Container.State.Pid <= 0 {
		return ""
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", r.Container.State.Pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		// Another process of that number may be meant where namespaces differ.
		if len(parts) != 3 || !strings.Contains(parts[2], r.Container.ID) {
			continue
		}
		const root = "/sys/fs/cgroup"
		var file string
		switch {
		case parts[0] == "0" && parts[1] == "": // version 2
			file = filepath.Join(root, parts[2], "cpu.stat")
		case strings.Contains(","+parts[1]+",", ",cpuacct,"):
			file = filepath.Join(root, "cpuacct", parts[2], "cpuacct.usage")
		default:
			continue
		}
		if _, err := readCPU(file); err == nil {
			return file
		}
	}
	return ""
}

// readCPU reads cpuacct.usage (nanoseconds) or cpu.stat (usage_usec).
func readCPU(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	unit := time.Nanosecond
	if filepath.Base(file) == "cpu.stat" {
		_, after, ok := bytes.Cut(text, []byte("usage_usec "))
		if !ok {
			return 0, fmt.Errorf("read %s: no usage_usec", file)
		}
		text, _, _ = bytes.Cut(after, []byte("\n"))
		unit = time.Microsecond
	}
	v, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	return time.Duration(v) * unit, nil
}

// askCPU asks Docker for one sample.
func (n *Node) askCPU(ctx context.Context) (time.Duration, bool) {
	r, err := n.c.eng.cli.ContainerStats(ctx, n.container, client.ContainerStatsOptions{})
	if err != nil {
		return 0, false
	}
	defer func() { _ = r.Body.Close() }() // one sample was read
	var s container.StatsResponse
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil || s.CPUStats.CPUUsage.TotalUsage == 0 {
		return 0, false // a server that has not run has used none: dead
	}
	return time.Duration(s.CPUStats.CPUUsage.TotalUsage), true
}
