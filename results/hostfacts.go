package results

import (
	"encoding/json"
	"fmt"
	"strings"
)

// HostFacts is what reports say about a host, taken from Run.Host. The names
// are those of internal/host.Info; what a file does not have is absent.
type HostFacts struct {
	CPUModel    string `json:"cpu_model"`
	LogicalCPUs int    `json:"logical_cpus"`
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	Hypervisor  string `json:"hypervisor"`
	Virtual     *bool  `json:"virtualized"`
	Governor    string `json:"governor"`
}

// hostFacts reads the header's host, which is a struct in the program that
// measures and a map when it comes from a file.
func hostFacts(host any) HostFacts {
	var h HostFacts
	b, err := json.Marshal(host)
	if err != nil {
		return h
	}
	// A host of another shape has no facts; the figures stand without them.
	if json.Unmarshal(b, &h) != nil {
		return HostFacts{}
	}
	for _, p := range []*string{&h.CPUModel, &h.OS, &h.Kernel, &h.Hypervisor, &h.Governor} {
		*p = Printable(*p)
	}
	return h
}

// String is one line, "" without facts.
func (h HostFacts) String() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(h.CPUModel)
	switch {
	case h.LogicalCPUs == 1:
		add("1 logical CPU")
	case h.LogicalCPUs > 1:
		add(fmt.Sprintf("%d logical CPUs", h.LogicalCPUs))
	}
	if h.Virtual != nil && *h.Virtual {
		add(strings.TrimSpace("virtual machine " + paren(h.Hypervisor)))
	}
	if h.Governor != "" {
		add("governor " + h.Governor)
	}
	add(strings.TrimSpace(h.OS + " " + h.Kernel))
	return strings.Join(parts, ", ")
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
