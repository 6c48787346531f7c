package host

import (
	"bufio"
	"fmt"
	"path"
	"slices"
	"strings"
)

// cpuModel names the processor: by CPUID, else by /proc/cpuinfo.
func cpuModel(i *Info, s Source, r reader) {
	i.CPUModel, i.CPUVendor = clean(s.CPUModel), s.CPUVendor
	if i.CPUModel != "" {
		return
	}
	info, err := cpuinfo(r)
	switch {
	case err != nil:
		i.absent("cpu_model", err.Error())
	case info["model name"] != "":
		i.CPUModel = clean(info["model name"])
		i.CPUVendor = info["vendor_id"]
	case info["CPU part"] != "":
		// Arm kernels print numbers of the MIDR register.
		i.CPUModel = fmt.Sprintf("Arm implementer %s part %s", info["CPU implementer"], info["CPU part"])
	default:
		i.absent("cpu_model", "/proc/cpuinfo does not name it")
	}
}

// clean joins the runs of spaces that brand strings are padded with.
func clean(s string) string { return strings.Join(strings.Fields(s), " ") }

// cpuinfo returns the fields of the first CPU in /proc/cpuinfo.
func cpuinfo(r reader) (map[string]string, error) {
	text, err := r.get("proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	sc := bufio.NewScanner(strings.NewReader(text))
	for sc.Scan() {
		key, value, ok := strings.Cut(sc.Text(), ":")
		if !ok && len(out) > 0 {
			break // the empty line after the first CPU
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return out, nil
}

// cpuFlags are the processor's features as the kernel names them, on amd64.
func cpuFlags(r reader) ([]string, error) {
	info, err := cpuinfo(r)
	if err != nil {
		return nil, err
	}
	return strings.Fields(info["flags"]), nil
}

// clock says whether the time stamp counter can be trusted: it runs at one rate
// (constant_tsc) and does not stop in sleep states (nonstop_tsc).
func clock(i *Info, r reader) {
	i.ClockSource = r.text("sys/devices/system/clocksource/clocksource0/current_clocksource", i, "clock_source")
	if i.Arch != "amd64" {
		i.absent("invariant_tsc", "only amd64 has a time stamp counter")
		return
	}
	flags, err := cpuFlags(r)
	if err != nil {
		i.absent("invariant_tsc", err.Error())
		return
	}
	ok := slices.Contains(flags, "constant_tsc") && slices.Contains(flags, "nonstop_tsc")
	i.InvariantTSC = &ok
}

const cpuDir = "sys/devices/system/cpu"

// frequency reads the governors, limits and boost of all CPUs.
func frequency(i *Info, r reader) {
	var governors []string
	lowest, highest, slowestMax := int64(0), int64(0), int64(0)
	for _, c := range i.Topology {
		dir := path.Join(cpuDir, fmt.Sprintf("cpu%d/cpufreq", c.ID))
		if g, err := r.get(dir + "/scaling_governor"); err == nil && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
		if khz, err := r.integer(dir + "/cpuinfo_min_freq"); err == nil && (lowest == 0 || khz < lowest) {
			lowest = khz
		}
		if khz, err := r.integer(dir + "/cpuinfo_max_freq"); err == nil {
			highest = max(highest, khz)
			if slowestMax == 0 || khz < slowestMax {
				slowestMax = khz
			}
		}
	}
	slices.Sort(governors)
	switch len(governors) {
	case 0:
		i.absent("governor", "no CPU has cpufreq files: the firmware or the hypervisor sets the frequency")
	case 1:
		i.Governor = governors[0]
	default:
		i.Governor = "mixed: " + strings.Join(governors, ", ")
	}
	i.FreqMinHz, i.FreqMaxHz = lowest*1000, highest*1000
	if highest > 0 {
		// Cores of one kind differ by some percent (favoured cores), fast and
		// slow ones by a third and more.
		unequal := float64(slowestMax) < 0.8*float64(highest)
		i.UnequalCores = &unequal
	} else {
		i.absent("freq_max_hz", "no CPU has cpufreq files")
	}
	turbo(i, r)
}

func turbo(i *Info, r reader) {
	var on bool
	if n, err := r.integer(cpuDir + "/intel_pstate/no_turbo"); err == nil {
		on = n == 0
	} else if n, err := r.integer(cpuDir + "/cpufreq/boost"); err == nil {
		on = n != 0
	} else {
		i.absent("turbo", "neither intel_pstate/no_turbo nor cpufreq/boost can be read")
		return
	}
	i.Turbo = &on
}
