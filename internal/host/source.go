package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A Source is where facts come from. Tests fill it with the facts of machines
// that are not at hand.
type Source struct {
	Root     fs.FS // the file system's root; paths have no leading slash
	OS, Arch string
	CPUs     int // online, as the runtime counts them; used if sysfs does not say
	// What the CPUID instruction says; empty where there is none.
	CPUModel, CPUVendor, Hypervisor string
	InVM                            bool
	Affinity                        func() ([]int, error)
}

// From collects what s knows about a Linux host.
func From(s Source) Info {
	i := Info{OS: s.OS, Arch: s.Arch, LogicalCPUs: s.CPUs}
	r := reader{s.Root}
	i.Kernel = r.text("proc/sys/kernel/osrelease", &i, "kernel")
	affinity(&i, s)
	cpuModel(&i, s, r)
	topology(&i, r)
	caches(&i, r)
	frequency(&i, r)
	clock(&i, r)
	virtual(&i, s, r)
	container(&i, r)
	cgroups(&i, r)
	memory(&i, r)
	load(&i, r)
	battery(&i, r)
	return i
}

func affinity(i *Info, s Source) {
	if s.Affinity == nil {
		i.absent("allowed_cpus", "this system has no affinity masks")
		return
	}
	cpus, err := s.Affinity()
	if err != nil {
		i.absent("allowed_cpus", err.Error())
		return
	}
	i.AllowedCPUs = cpus
}

// A reader reads small files of /proc and /sys.
type reader struct{ root fs.FS }

// get returns the trimmed content of a file.
func (r reader) get(path string) (string, error) {
	b, err := fs.ReadFile(r.root, path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no such file")
		}
		return "", fmt.Errorf("/%s: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// text is get for a field of i: an error becomes the reason of its absence.
func (r reader) text(path string, i *Info, field string) string {
	s, err := r.get(path)
	if err != nil {
		i.absent(field, err.Error())
	}
	return s
}

// integer reads a file with one number.
func (r reader) integer(path string) (int64, error) {
	s, err := r.get(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/%s: %q is not a number", path, short(s))
	}
	return n, nil
}

func (r reader) exists(path string) bool {
	_, err := fs.Stat(r.root, path)
	return err == nil
}

func short(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return s
}

// maxCPU bounds the numbers in a CPU list: more than any kernel is built for
// (8192), so that a damaged list cannot fill the memory.
const maxCPU = 1 << 14

// parseCPUs reads the kernel's list format: "0-3,8,10-11".
func parseCPUs(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if part == "" {
			continue
		}
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || a < 0 || b < a || b > maxCPU {
			return nil, fmt.Errorf("%q is not a list of CPUs", short(s))
		}
		for c := a; c <= b && len(out) <= maxCPU; c++ {
			out = append(out, c)
		}
	}
	return out, nil
}
