package host

import (
	"slices"
	"strings"
)

// hypervisors by the vendor string of CPUID leaf 0x40000000.
var hypervisors = map[string]string{
	"KVMKVMKVM": "KVM", "Linux KVM Hv": "KVM", "Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware",
	"XenVMMXenVMM": "Xen", "VBoxVBoxVBox": "VirtualBox", "bhyve bhyve": "bhyve", "TCGTCGTCGTCG": "QEMU (emulated)",
	"ACRNACRNACRN": "ACRN", "prl hyperv": "Parallels", "QNXQVMBSQG": "QNX",
}

// products are words in the firmware's product or vendor name of virtual
// machines, for processors without CPUID.
var products = []struct{ word, name string }{
	{"KVM", "KVM"}, {"QEMU", "QEMU"}, {"VMware", "VMware"}, {"VirtualBox", "VirtualBox"},
	{"Virtual Machine", "Hyper-V"}, {"Xen", "Xen"}, {"Google Compute Engine", "Google Compute Engine"},
	{"Apple Virtualization", "Apple Virtualization"}, {"OpenStack", "OpenStack"}, {"Parallels", "Parallels"},
}

// virtual finds out whether a hypervisor runs below this system: by CPUID or
// the kernel's feature list, else by the names that the firmware gives.
func virtual(i *Info, s Source, r reader) {
	i.Hypervisor = hypervisorName(s.Hypervisor)
	yes, known := s.InVM, false
	if i.Arch == "amd64" {
		flags, err := cpuFlags(r)
		yes = yes || slices.Contains(flags, "hypervisor")
		known = err == nil || s.CPUModel != ""
	}
	if i.Hypervisor == "" && (yes || !known) {
		i.Hypervisor = firmwareName(r)
		yes = yes || i.Hypervisor != ""
	}
	if yes || known {
		i.Virtualized = &yes
		return
	}
	i.absent("virtualized", "this processor does not say, and the firmware's names do not tell")
}

func hypervisorName(vendor string) string {
	vendor = strings.TrimSpace(strings.Trim(vendor, "\x00"))
	if name, ok := hypervisors[vendor]; ok {
		return name
	}
	return vendor
}

// firmwareName looks for a known virtual machine in the names that the firmware
// gives; "" = none.
func firmwareName(r reader) string {
	for _, path := range []string{"sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor", "sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"} {
		text, err := r.get(path)
		if err != nil {
			continue
		}
		for _, p := range products {
			if strings.Contains(strings.ToLower(text), strings.ToLower(p.word)) {
				return p.name
			}
		}
	}
	return ""
}

// container finds out whether this process runs in one, by the marks that the
// common engines leave.
func container(i *Info, r reader) {
	switch {
	case r.exists(".dockerenv"):
		i.Container = "docker"
		return
	case r.exists("run/.containerenv"):
		i.Container = "podman"
		return
	}
	groups, err := r.get("proc/1/cgroup")
	if err != nil {
		i.absent("container", err.Error())
		return
	}
	for _, kind := range []string{"kubepods", "docker", "libpod", "containerd", "lxc"} {
		if strings.Contains(groups, kind) {
			i.Container = kind
			return
		}
	}
}
