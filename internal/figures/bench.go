package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"lockbench/results"
)

// bench runs programs and reads what they measured.
type bench struct {
	program string
	dir     string // for files, removed at the end
	log     io.Writer
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
func (b *bench) cost() ([]figure, error) {
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
	var figs []figure
	for _, x := range []struct {
		lock  string
		limit float64
	}{{"null", 0.25}, {"tas", 0.75}, {"ticket", 0.75}, {"clh", 0.75}, {"mcs", 1.25}} {
		var ratios []float64
		for _, m := range byRep {
			if m[x.lock] > 0 && m["mutex"] > 0 {
				ratios = append(ratios, m[x.lock]/m["mutex"])
			}
		}
		f, err := atMost(x.lock+"_per_mutex", "ratio", x.limit, ratios)
		if err != nil {
			return nil, err
		}
		figs = append(figs, f)
	}
	return figs, nil
}

var benchLine = regexp.MustCompile(`BenchmarkMutexLoop\S*\s+\d+\s+([0-9.]+) ns/op`)

// gotest holds the harness's figure for an uncontended mutex against what the
// toolchain's benchmark runner says of the same loop.
func (b *bench) gotest() ([]figure, error) {
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
	f, err := atMost("mutex_vs_gotest", "pct", 15, off)
	if err != nil {
		return nil, err
	}
	// The difference may have either sign: what counts is the bound that is
	// farther from 0.
	f.value, f.lo, f.hi, f.how = abs(f.value), 0, max(abs(f.lo), abs(f.hi)), "95 % interval of the distance from 0"
	return []figure{f}, nil
}

func abs(x float64) float64 { return max(x, -x) }

// overhead compares what a repetition costs beyond its intervals with starting
// and ending an empty Go program.
func (b *bench) overhead() ([]figure, error) {
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
	f, err := atMost("repetition_overhead", "empty-programs", 10, ratios)
	return []figure{f}, err
}

// memory compares the peak of a long repetition with a short one's, and both
// with the limits.
func (b *bench) memory() ([]figure, error) {
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
	worst := func(name, unit string, limit float64, v []float64) figure {
		f := figure{name: name, unit: unit, n: len(v), limit: limit, value: v[0], lo: v[0], hi: v[0], how: "from best to worst"}
		for _, x := range v {
			f.value, f.hi, f.lo = max(f.value, x), max(f.hi, x), min(f.lo, x)
		}
		return f
	}
	both := func(lock string) []float64 { return append(peaks[lock]["1s"], peaks[lock]["20s"]...) }
	return []figure{
		worst("memory_growth", "pct", 5, growth),
		worst("memory_peak", "MiB", 64, both("mutex")),
		worst("memory_peak_semaphore", "MiB", 96, both("semaphore")),
	}, nil
}

// loop counts what the throughput interval must not do: read the clock or
// allocate for each operation. What is left is the harness's: one reading of
// the clock a batch of some 50 us (at 60 ns an operation one in 800), and a
// few dozen objects an interval. A reading or an allocation an operation would
// be 1.
func (b *bench) loop() ([]figure, error) {
	samples, err := b.lockbench("--lock", "null,mutex,chan,tas,ticket,mcs,clh", "--workload", "uncontended", "--reps", "3", "--duration", "100ms", "--probe", "1ms")
	if err != nil {
		return nil, err
	}
	const limit = 0.01
	reads, mallocs := figure{name: "clock_reads_per_op", unit: "1", limit: limit, how: "up to the worst"}, figure{name: "mallocs_per_op", unit: "1", limit: limit, how: "up to the worst"}
	for _, s := range samples {
		reads.n++
		mallocs.n++
		reads.hi = max(reads.hi, float64(s.ClockReads)/float64(s.Ops))
		mallocs.hi = max(mallocs.hi, float64(s.Mallocs)/float64(s.Ops))
	}
	reads.value, mallocs.value = reads.hi, mallocs.hi
	return []figure{reads, mallocs}, nil
}

// defaultRun times the run without flags.
func (b *bench) defaultRun() ([]figure, error) {
	var secs []float64
	for range 3 {
		t := time.Now()
		if _, err := b.lockbench(); err != nil {
			return nil, err
		}
		secs = append(secs, time.Since(t).Seconds())
	}
	f := figure{name: "default_run", unit: "s", how: "from best to worst", n: len(secs), limit: 30, lo: min(secs[0], secs[1], secs[2]), hi: max(secs[0], secs[1], secs[2])}
	f.value = f.hi
	return []figure{f}, nil
}
