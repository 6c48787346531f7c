package render

import (
	"bytes"
	"encoding/xml"
	"path/filepath"
	"testing"

	"lockbench/internal/golden"
	"lockbench/results/gate"
)

// gateChaosResult is a gate on the sample run, with demands of every outcome.
func gateChaosResult(t *testing.T, path string) *gate.ChaosResult {
	t.Helper()
	rules, err := gate.ParseRules("demands.yaml", []byte(`chaos:
  - {name: "nobody waits long | <b>", fault: holder-kill, lock: "etcd, redsync", verdict: safe, recovery_max: 1.2 x TTL}
  - {fault: holder-pause, lock: "redis*", policy: careful, verdict: [safe, safe-with-fence]}
  - {fault: quorum-loss, lock: redlock, min_rounds: 10}
  - {lock: redus, verdict: safe}
`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := gate.Chaos(rules, load(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestGateChaosGolden(t *testing.T) {
	for name, path := range map[string]string{"gate-chaos": "testdata/chaos.jsonl", "gate-chaos-bad": "testdata/chaos-bad.jsonl"} {
		res := gateChaosResult(t, path)
		for _, f := range GateFormats() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				var out bytes.Buffer
				if err := f.Chaos(&out, res); err != nil {
					t.Fatal(err)
				}
				golden.Check(t, filepath.Join("testdata", name+"."+f.Name), out.Bytes())
			})
		}
	}
}

// TestGateChaosJUnit: what is inconclusive is not green.
func TestGateChaosJUnit(t *testing.T) {
	res := gateChaosResult(t, "testdata/chaos.jsonl")
	var out bytes.Buffer
	if err := gateChaosJUnit(&out, res); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	failures, errors := res.Count(gate.Fail), res.Count(gate.Inconclusive)
	for _, f := range res.Always {
		if f.Verdict == gate.Violation {
			failures++
		}
	}
	if got.Failures != failures || got.Errors != errors || got.Tests != len(res.Tests)+len(res.Always) {
		t.Errorf("%d tests, %d failures, %d errors; want %d, %d, %d", got.Tests, got.Failures, got.Errors, len(res.Tests)+len(res.Always), failures, errors)
	}
}
