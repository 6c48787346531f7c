package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/results"
)

// maxModel is the most bytes of a processor's name in the name of a directory.
const maxModel = 48

// noise are words in the names of processors that tell nothing.
var noise = []string{"(r)", "(tm)", "(c)", "processor", "cpu"}

// hostName names the directory of a host: the processor, how many logical CPUs it
// shows, and what virtualises it, "amd-epyc-2cpu-kvm". It is made of a-z, 0-9 and
// single dashes, whatever the header says.
func hostName(h results.HostFacts) (string, error) {
	model, _, _ := strings.Cut(strings.ToLower(h.CPUModel), " @ ") // the nominal frequency
	for _, w := range noise {
		model = strings.ReplaceAll(model, w, " ")
	}
	model = slug(model)
	if len(model) > maxModel {
		model = strings.TrimRight(model[:maxModel], "-")
	}
	if model == "" {
		return "", errors.New("the header does not name the processor")
	}
	if h.LogicalCPUs < 1 {
		return "", fmt.Errorf("the header has %d logical CPUs", h.LogicalCPUs)
	}
	name := fmt.Sprintf("%s-%dcpu", model, h.LogicalCPUs)
	if h.Virtual != nil && *h.Virtual {
		vm := slug(h.Hypervisor)
		if vm == "" {
			vm = "vm"
		}
		name += "-" + vm[:min(len(vm), 24)]
	}
	return strings.TrimRight(name, "-"), nil
}

// slug keeps letters and digits of ASCII, in lower case; what lies between
// becomes one dash.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
			continue
		}
		gap = true
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
