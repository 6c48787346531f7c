package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/workloads"
)

func TestLengthsAgainstTheTimeout(t *testing.T) {
	for _, c := range []struct {
		knob, value string
		timeout     time.Duration
		want        string // empty: fine
	}{
		{"section", "2s", time.Second, "would count as a hang"},
		{"section", "2s", 10 * time.Second, ""},
		{"think", "exp:2s", 10 * time.Second, "would count as a hang"},
		{"hog", "1s", 2 * time.Second, "would count as a hang"},
		{"arrivals", "constant:0.1", 10 * time.Second, "would count as a hang"},
		{"arrivals", "poisson:20", time.Second, "would count as a hang"},
		{"arrivals", "poisson:20000", time.Second, ""},
		{"section", "100000", time.Second, ""},
	} {
		s := Default()
		s.Workloads, s.Timeout = presets("moderate"), c.timeout
		if err := s.Workloads[0].Set(c.knob, c.value); err != nil {
			t.Fatal(err)
		}
		_, err := NewPlan(s, impls.Catalog(), machineOf(2))
		var u *UsageError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s=%s, timeout %v: %v", c.knob, c.value, c.timeout, err)
		case c.want != "" && (!errors.As(err, &u) || !strings.Contains(err.Error(), c.want) || !strings.Contains(u.Hint, "--timeout")):
			t.Errorf("%s=%s, timeout %v: %v, want %q", c.knob, c.value, c.timeout, err, c.want)
		}
	}
}

// TestPresetsFitTheDefaultTimeout on small and large machines.
func TestPresetsFitTheDefaultTimeout(t *testing.T) {
	s := Default()
	s.Workloads = nil
	for _, p := range workloads.Presets() {
		s.Workloads = append(s.Workloads, p.Spec())
	}
	for _, n := range []int{1, 2, 64} {
		if _, err := NewPlan(s, impls.Catalog(), machineOf(n)); err != nil {
			t.Errorf("%d cores: %v", n, err)
		}
	}
}

func TestFixedWorkHasNoPhases(t *testing.T) {
	s := Default()
	s.Workloads, s.Ops = presets("bursty"), 10_000
	_, err := NewPlan(s, impls.Catalog(), machineOf(2))
	var u *UsageError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "phases") {
		t.Errorf("phases with fixed work: %v", err)
	}
}
