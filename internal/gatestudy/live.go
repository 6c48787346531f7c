package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"lockbench/results/gate"
)

// exitCodes of lockbench gate by verdict.
func exitCodes() map[gate.Verdict]int {
	return map[gate.Verdict]int{gate.Pass: 0, gate.Fail: 4, gate.Inconclusive: 5, gate.Violation: 3}
}

// A liveGate is one run of lockbench gate, as it is kept.
type liveGate struct {
	Session string       `json:"session"`
	Number  int          `json:"number"`
	Seconds float64      `json:"seconds"`
	Sums    []string     `json:"sha256"`
	Result  *gate.Result `json:"result"`
}

// errNoVerdict is about a gate that ended without one.
var errNoVerdict = errors.New("no verdict")

// runLive runs one gate, or takes the one that is there.
func (st *study) runLive(ctx context.Context, n int, s session) (*liveGate, error) {
	sides, sums, err := st.sides(ctx, s)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(st.o.dir, fmt.Sprintf("live-%03d-%s.json", n, s.name))
	if text, err := os.ReadFile(path); err == nil {
		var old liveGate
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, fmt.Errorf("%s: %w: remove it", path, err)
		}
		if fmt.Sprint(old.Sums) != fmt.Sprint(sums) {
			return nil, fmt.Errorf("%s: it was measured with other programs: remove it, or use another -dir", path)
		}
		return &old, nil
	}
	rules := filepath.Join(st.o.dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(rulesText(metric, threshold)), 0o644); err != nil {
		return nil, err
	}
	// Each gate has its own order of cells and of halves.
	seed := st.o.seed*1_000_000 + uint64(n)
	args := append([]string{"gate", "--rules", rules, "--budget", strconv.Itoa(st.o.budget), "--seed", strconv.FormatUint(seed, 10), "--format", "json", "--progress", "none"}, sides...)
	var stdout bytes.Buffer
	began := time.Now()
	runErr := st.lockbench(ctx, &stdout, append(args, st.o.cellFlags(s.workers)...)...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	g := &liveGate{Session: s.name, Number: n, Seconds: time.Since(began).Seconds(), Sums: sums, Result: new(gate.Result)}
	code, ended := exitCode(runErr)
	if !ended {
		return nil, fmt.Errorf("%w: lockbench gate: %w", errNoVerdict, runErr)
	}
	if err := json.Unmarshal(stdout.Bytes(), g.Result); err != nil {
		return nil, fmt.Errorf("%w: lockbench gate ended with exit code %d: %w", errNoVerdict, code, err)
	}
	if want, known := exitCodes()[g.Result.Verdict]; !known || want != code {
		return nil, fmt.Errorf("%w: lockbench gate says %q and ends with exit code %d", errNoVerdict, g.Result.Verdict, code)
	}
	text, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("keep the verdict: %w", err)
	}
	return g, os.WriteFile(path, append(text, '\n'), 0o644)
}
