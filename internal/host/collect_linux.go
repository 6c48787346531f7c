package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"
)

// Collect finds out what this host is.
func Collect() Info {
	return From(Source{
		Root: os.DirFS("/"), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		CPUModel: cpuid.CPU.BrandName, CPUVendor: cpuid.CPU.VendorString,
		Hypervisor: cpuid.CPU.HypervisorVendorString, InVM: cpuid.CPU.VM(),
		Affinity: allowed,
	})
}

// allowed is the affinity mask of this process.
func allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the affinity mask: %w", err)
	}
	var out []int
	for c := 0; len(out) < set.Count(); c++ {
		if set.IsSet(c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// CPUTicks is the processor time since boot. ok is false where the kernel does
// not say.
func CPUTicks() (t Ticks, ok bool) {
	t, err := cpuTicks(reader{os.DirFS("/")})
	return t, err == nil
}
