package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/figure"
	"lockbench/results"
)

// bench runs programs and reads what they measured.
type bench struct {
	program string
	dir     string // for files, removed at the end
	runs    int
}

// lockbench runs the program and returns its samples.
func (b *bench) lockbench(args ...string) ([]*results.Sample, error) {
	b.runs++
	out := filepath.Join(b.dir, fmt.Sprintf("run-%d.jsonl", b.runs))
	cmd := exec.Command(b.program, append([]string{"run", "--format", "csv", "--out", out}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("lockbench run: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var samples []*results.Sample
	_, err := results.ReadFile(out, func(r results.Record) error {
		if r.Sample != nil {
			if r.Sample.Outcome != results.OutcomeOK {
				return fmt.Errorf("%s: %s: %s", r.Sample.Cell, r.Sample.Outcome, r.Sample.Reason)
			}
			samples = append(samples, r.Sample)
		}
		return nil
	})
	return samples, err
}

// cost compares uncontended locks with sync.Mutex, repetition by repetition:
// the cells of one repetition run within a second.
func (b *bench) cost(targets []figure.Figure) ([]figure.Figure, error) {
	samples, err := b.lockbench("--lock", "mutex,tas,ticket,clh,mcs", "--workload", "uncontended",
		"--reps", "61", "--warmup", "5ms", "--duration", "20ms", "--probe", "1ms")
	if err != nil {
		return nil, err
	}
	byRep := map[int]map[string]float64{}
	for _, s := range samples {
		if byRep[s.Rep] == nil {
			byRep[s.Rep] = map[string]float64{}
		}
		byRep[s.Rep][s.Lock] = s.WallNSPerOp
	}
	var figs []figure.Figure
	for _, t := range targets {
		lock := strings.TrimSuffix(t.Name, "_per_mutex")
		var ratios []float64
		for _, m := range byRep {
			if m[lock] > 0 && m["mutex"] > 0 {
				ratios = append(ratios, m[lock]/m["mutex"])
			}
		}
		figs = append(figs, t.Median(ratios))
	}
	return figs, nil
}

var benchLine = regexp.MustCompile(`BenchmarkMutexLoop\S*\s+\d+\s+([0-9.]+) ns/op`)

// gotest holds the harness's figure for an uncontended mutex against what the
// toolchain's benchmark runner says of the same loop.
func (b *bench) gotest(targets []figure.Figure) ([]figure.Figure, error) {
	bin := filepath.Join(b.dir, "loopbench.test")
	if out, err := exec.Command("go", "test", "-pgo=off", "-c", "-o", bin, "lockbench/internal/figures/loopbench").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the benchmark: %w: %s", err, bytes.TrimSpace(out))
	}
	const pairs = 25
	var off []float64
	for range pairs {
		samples, err := b.lockbench("--lock", "mutex", "--workload", "uncontended", "--reps", "1", "--warmup", "5ms", "--duration", "50ms", "--probe", "1ms")
		if err != nil {
			return nil, err
		}
		out, err := exec.Command(bin, "-test.bench=MutexLoop", "-test.run=^$", "-test.benchtime=50ms").CombinedOutput()
		m := benchLine.FindSubmatch(out)
		if err != nil || m == nil {
			return nil, fmt.Errorf("run the benchmark: %v: %s", err, bytes.TrimSpace(out))
		}
		theirs, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("read the benchmark's figure: %w", err)
		}
		for _, s := range samples {
			if s.Lock == "mutex" {
				off = append(off, 100*(s.WallNSPerOp/theirs-1))
			}
		}
	}
	f := targets[0].Median(off)
	if f.Err == nil {
		// The difference may have either sign: what counts is the bound that is
		// farther from 0.
		f = f.Measured(abs(f.Value), 0, max(abs(f.Lo), abs(f.Hi)), "95 % interval of the distance from 0", f.N)
	}
	return []figure.Figure{f}, nil
}

func abs(x float64) float64 { return max(x, -x) }

// overhead compares what a repetition costs beyond its intervals with starting
// and ending an empty Go program.
func (b *bench) overhead(targets []figure.Figure) ([]figure.Figure, error) {
	src := filepath.Join(b.dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return nil, err
	}
	bin := filepath.Join(b.dir, "empty")
	if out, err := exec.Command("go", "build", "-o", bin, src).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the empty program: %w: %s", err, bytes.TrimSpace(out))
	}
	const pairs = 41
	var ratios []float64
	for range pairs {
		var empty []float64
		for range 3 {
			t := time.Now()
			if err := exec.Command(bin).Run(); err != nil {
				return nil, fmt.Errorf("run the empty program: %w", err)
			}
			empty = append(empty, float64(time.Since(t)))
		}
		samples, err := b.lockbench("--lock", "mutex", "--workload", "moderate", "--reps", "1", "--warmup", "2ms", "--duration", "10ms", "--probe", "5ms")
		if err != nil {
			return nil, err
		}
		base := results.NewEstimate(empty).Median
		for _, s := range samples {
			if s.Lock == "mutex" { // null shares the base: it would be no other measurement
				ratios = append(ratios, float64(s.OverheadNS)/base)
			}
		}
	}
	return []figure.Figure{targets[0].Median(ratios)}, nil
}

// memory compares the peak of a long repetition with a short one's, and both
// with the limits.
func (b *bench) memory(targets []figure.Figure) ([]figure.Figure, error) {
	peaks := map[string]map[string][]float64{}
	const reps = 3
	for range reps {
		for _, d := range []string{"1s", "20s"} {
			samples, err := b.lockbench("--lock", "mutex,semaphore", "--workload", "moderate", "--workers", "8", "--reps", "1", "--duration", d, "--probe", d)
			if err != nil {
				return nil, err
			}
			for _, s := range samples {
				if peaks[s.Lock] == nil {
					peaks[s.Lock] = map[string][]float64{}
				}
				peaks[s.Lock][d] = append(peaks[s.Lock][d], float64(s.PeakRSSBytes)/(1<<20))
			}
		}
	}
	var growth []float64
	for i, short := range peaks["mutex"]["1s"] {
		growth = append(growth, 100*(peaks["mutex"]["20s"][i]/short-1))
	}
	// Three repetitions have no interval of the median: the worst one counts.
	both := func(lock string) []float64 { return append(peaks[lock]["1s"], peaks[lock]["20s"]...) }
	return []figure.Figure{
		targets[0].Worst(growth), targets[1].Worst(both("mutex")), targets[2].Worst(both("semaphore")),
	}, nil
}

// loop counts what the throughput interval must not do: read the clock or
// allocate for each operation. What is left is the harness's: one reading of
// the clock a batch of some 50 us (at 60 ns an operation one in 800), and a
// few dozen objects an interval. A reading or an allocation an operation would
// be 1.
func (b *bench) loop(targets []figure.Figure) ([]figure.Figure, error) {
	samples, err := b.lockbench("--lock", "null,mutex,chan,tas,ticket,mcs,clh", "--workload", "uncontended", "--reps", "3", "--duration", "100ms", "--probe", "1ms")
	if err != nil {
		return nil, err
	}
	var reads, mallocs []float64
	for _, s := range samples {
		reads = append(reads, float64(s.ClockReads)/float64(s.Ops))
		mallocs = append(mallocs, float64(s.Mallocs)/float64(s.Ops))
	}
	return []figure.Figure{targets[0].Worst(reads), targets[1].Worst(mallocs)}, nil
}

// defaultRun times the run without flags.
func (b *bench) defaultRun(targets []figure.Figure) ([]figure.Figure, error) {
	var secs []float64
	for range 3 {
		t := time.Now()
		if _, err := b.lockbench(); err != nil {
			return nil, err
		}
		secs = append(secs, time.Since(t).Seconds())
	}
	return []figure.Figure{targets[0].Worst(secs)}, nil
}
