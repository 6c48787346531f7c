package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/results"
)

func TestHostName(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		host results.HostFacts
		want string // "" = an error
	}{
		{results.HostFacts{CPUModel: "AMD EPYC", LogicalCPUs: 2, Virtual: &yes, Hypervisor: "KVM"}, "amd-epyc-2cpu-kvm"},
		{results.HostFacts{CPUModel: "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", LogicalCPUs: 64, Virtual: &no}, "intel-xeon-platinum-8370c-64cpu"},
		{results.HostFacts{CPUModel: "Apple M2", LogicalCPUs: 8}, "apple-m2-8cpu"},
		{results.HostFacts{CPUModel: "AMD Ryzen 9 5950X 16-Core Processor", LogicalCPUs: 32, Virtual: &yes}, "amd-ryzen-9-5950x-16-core-32cpu-vm"},
		{results.HostFacts{CPUModel: "x", LogicalCPUs: 1, Virtual: &yes, Hypervisor: "QEMU (emulated)"}, "x-1cpu-qemu-emulated"},
		{results.HostFacts{CPUModel: "../../etc/passwd\x00", LogicalCPUs: 1}, "etc-passwd-1cpu"},
		{results.HostFacts{CPUModel: `C:\CON`, LogicalCPUs: 1}, "c-con-1cpu"},
		{results.HostFacts{CPUModel: strings.Repeat("long ", 100), LogicalCPUs: 1}, strings.TrimSuffix(strings.Repeat("long-", 10)[:maxModel], "-") + "-1cpu"},
		{results.HostFacts{CPUModel: "...", LogicalCPUs: 1}, ""},
		{results.HostFacts{CPUModel: "Ядро", LogicalCPUs: 1}, ""},
		{results.HostFacts{LogicalCPUs: 1}, ""},
		{results.HostFacts{CPUModel: "x"}, ""},
		{results.HostFacts{CPUModel: "x", LogicalCPUs: -3}, ""},
	} {
		got, err := hostName(c.host)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: got %q, %v, want %q", c.host, got, err, c.want)
		}
	}
}

func TestCutRow(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"| a | b |", []string{"a", "b"}},
		{`| a\|b | c\\ |`, []string{`a\|b`, `c\\`}},
		{"|  |", []string{""}},
		{"a | b", nil},
		{"|", nil},
		{"", nil},
	} {
		if got, _ := cutRow(c.line); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
	}
}

func TestGridErrors(t *testing.T) {
	if _, err := grids([]byte("### one\n\n### two\n")); err == nil {
		t.Error("sections without rows: want an error")
	}
	all, err := grids([]byte("### one\n\n| lock | throughput |\n|:--|--:|\n| a | 1 |\n\nby phase:\n\n| lock | p1 | p2 |\n|:--|--:|--:|\n| a | 1 | 2 |\n"))
	if err != nil || len(all) != 1 || len(all[0].rows) != 1 {
		t.Fatalf("got %+v, %v, want one section with one row", all, err)
	}
	if _, err := all[0].cut([]string{"a"}); err == nil || !strings.Contains(err.Error(), `no column "jain"`) {
		t.Errorf("a table without fairness: got %v", err)
	}
	whole := grid{title: "t", head: []string{"lock", "throughput", "jain"}, align: []string{":-", "-:", "-:"}, rows: [][]string{{"a", "1", "1"}}}
	if _, err := whole.cut([]string{"a", "b"}); err == nil {
		t.Error("more cells than rows: want an error")
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		page string
		ok   bool
	}{
		{readmeText, true},
		{"no markers", false},
		{blockBegin, false},
		{blockEnd + blockBegin, false},
		{blockBegin + blockEnd + blockBegin + blockEnd, false},
	} {
		if _, _, err := between([]byte(c.page)); (err == nil) != c.ok {
			t.Errorf("%q: got %v, want it ok: %v", c.page, err, c.ok)
		}
	}
}

// TestReplace: a directory that cannot be moved to its place leaves the older one.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "host")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(at, "old"), "old")
	if err := replace(at, filepath.Join(dir, "not-there")); err == nil {
		t.Error("nothing to put there: want an error")
	}
	if got := readText(t, filepath.Join(at, "old")); got != "old" {
		t.Errorf("the older directory has %q", got)
	}
	fresh := filepath.Join(dir, "fresh")
	if err := os.Mkdir(fresh, 0o755); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(fresh, "new"), "new")
	if err := replace(at, fresh); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(t, dir); len(got) != 1 || got[filepath.Join(at, "new")] != "new" {
		t.Errorf("got %v, want the new directory alone", got)
	}
}

func TestShown(t *testing.T) {
	type at struct {
		workload string
		workers  int
		threads  string
	}
	for _, c := range []struct {
		name     string
		sections []at
		want     []int
	}{
		{"presets", []at{{"uncontended", 1, ""}, {"moderate", 2, ""}, {"moderate", 2, "locked"}, {"oversubscribed", 8, ""}, {"oversubscribed", 8, "locked"}}, []int{1, 3}},
		{"numbers of workers", []at{{"moderate", 1, ""}, {"moderate", 2, ""}, {"moderate", 4, ""}, {"moderate", 8, ""}, {"moderate", 8, "locked"}}, []int{1, 3}},
		{"one worker", []at{{"hog", 1, ""}, {"bursty", 1, ""}}, []int{0}},
		{"more workers only", []at{{"moderate", 8, ""}}, []int{0}},
		{"bound threads only", []at{{"moderate", 2, "locked"}}, []int{0}},
	} {
		r := &results.RunReport{}
		for _, s := range c.sections {
			r.Sections = append(r.Sections, &results.Section{Workload: s.workload, Workers: s.workers, Cores: 2, Threads: s.threads})
		}
		if got := shown(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
