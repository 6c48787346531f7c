package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"lockbench/internal/figure"
	"lockbench/results"
)

// What a file of 100,000 records is made of: one run of 50 locks in 200
// combinations of workload and workers, ten repetitions each. Many cells are the
// harder case: each has some 30 figures to estimate and to print.
const (
	storeLocks  = 50
	storeGroups = 200
	storeReps   = 10
)

// store measures how a large file is summarised: by the program, as a user
// would, and the merging of histograms, which the HTML report needs, in this
// process.
func (b *bench) store(targets []figure.Figure) ([]figure.Figure, error) {
	path := filepath.Join(b.dir, "store.jsonl")
	if err := generate(path, rand.New(rand.NewPCG(1, 2))); err != nil {
		return nil, fmt.Errorf("generate a results file: %w", err)
	}
	const runs = 7
	var secs, peaks, merges []float64
	for range runs {
		cmd := exec.Command(b.program, "report", path, "--format", "json")
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.Discard, &stderr
		t := time.Now()
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("lockbench report: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
		}
		secs = append(secs, time.Since(t).Seconds())
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peaks = append(peaks, float64(u.Maxrss)*maxrssUnit()/(1<<20))
		}
	}
	for range 3 {
		t := time.Now()
		r := results.NewBuilder(results.KeepHistograms())
		if err := r.AddFile(path); err != nil {
			return nil, err
		}
		for _, run := range r.Report().Runs {
			for _, c := range run.Cells() {
				if c.AcquireHist == nil || c.AcquireHist.Reps() != storeReps {
					return nil, fmt.Errorf("cell %s: its histograms were not merged", c.Cell)
				}
			}
		}
		merges = append(merges, time.Since(t).Seconds())
	}
	return []figure.Figure{targets[0].Median(secs), targets[1].Worst(peaks), targets[2].Worst(merges)}, nil
}

// maxrssUnit is in bytes (getrusage(2): KiB on Linux, bytes on macOS).
func maxrssUnit() float64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}

// generate writes a run of 100,000 repetitions in the order of a shuffled plan.
func generate(path string, r *rand.Rand) error {
	w, err := results.Create(path, false)
	if err != nil {
		return err
	}
	defer w.Close() // a second time does no harm; errors come from the first
	if err := w.Write(results.Run{RunID: "figures", Reps: storeReps, CellsPlanned: storeLocks * storeGroups}); err != nil {
		return err
	}
	pool, err := latencies(r)
	if err != nil {
		return err
	}
	for rep := range storeReps {
		for _, cell := range r.Perm(storeLocks * storeGroups) {
			s := repetition(r, cell%storeLocks, cell/storeLocks, rep)
			s.Acquire, s.Handoff = &pool[r.IntN(len(pool))], &pool[r.IntN(len(pool))]
			if err := w.Write(s); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// latencies are some to choose from: encoding one takes longer than all the rest
// of a record. They are like those of a contended lock: most acquisitions took
// about as long as each other, one in 20 many times that.
func latencies(r *rand.Rand) ([]results.Latency, error) {
	var out []results.Latency
	for range 500 {
		h, typical := results.NewHist(), 100*math.Exp(2*r.Float64())
		for range 2000 {
			ns := typical * math.Exp(0.4*r.NormFloat64())
			if r.IntN(20) == 0 {
				ns *= 1 + 20*r.ExpFloat64()
			}
			h.Record(int64(ns), 64)
		}
		l, err := h.Latency(64)
		if err != nil {
			return nil, err
		}
		out = append(out, *l)
	}
	return out, nil
}

func repetition(r *rand.Rand, lock, group, rep int) *results.Sample {
	workers := 2 << (group % 3)
	name, workload := fmt.Sprintf("lock-%02d", lock), fmt.Sprintf("workload-%02d", group/3)
	const elapsed = 100_000_000
	perOp := 80 * math.Exp(float64(lock)/20+0.03*r.NormFloat64())
	var counts []int64
	sum := int64(0)
	for range workers {
		n := int64(elapsed / perOp / float64(workers) * (1 + 0.01*r.Float64()))
		counts, sum = append(counts, n), sum+n
	}
	p := func(v float64) *float64 { return &v }
	coherence := 190 + 10*r.NormFloat64()
	s := &results.Sample{
		Cell: fmt.Sprintf("%s/workload=%s/workers=%d", name, workload, workers), Lock: name, Family: "generated", Workload: workload,
		Workers: workers, Cores: 2, CPUs: []int{0, 1}, Pin: "none", Clients: 1, Rep: rep, Seed: r.Uint64(),
		Dispatch: "direct", Threads: "free", Outcome: results.OutcomeOK,
		Ops: sum, ElapsedNS: elapsed, ProbeOps: sum / 2, ProbeElapsedNS: elapsed / 2, WarmupNS: 15_000_000 + r.Int64N(1e4), DrainNS: r.Int64N(1e4),
		ThroughputOps: float64(sum) * (1e9 / elapsed), WallNSPerOp: elapsed / float64(sum), CPUNSPerOp: 2 * elapsed / float64(sum),
		PerWorkerOps: counts, Fairness: results.FairnessOf(counts),
		ContendedPct: p(100 * r.Float64()), CoherenceNS: &coherence, CoherenceBeforeNS: p(coherence - 3*r.Float64()), CoherenceAfterNS: p(coherence + 3*r.Float64()),
		SectionMeasuredNS: p(200 + 10*r.Float64()), ThinkMeasuredNS: p(330 + 10*r.Float64()), SectionMeanNS: p(200 + 10*r.Float64()), ThinkMeanNS: p(400 + 10*r.Float64()),
		OverlapPct: p(99 + r.Float64()), CtxVoluntary: r.Int64N(50), CtxInvoluntary: r.Int64N(50), StealPct: p(r.Float64()), OthersPct: p(r.Float64()),
		PeakRSSBytes: 15e6 + r.Int64N(1e5), OverheadNS: 13e6 + r.Int64N(1e5), ClockReads: r.Int64N(5000), Mallocs: r.Int64N(100),
	}
	s.Fairness.LWSSMedian, s.Fairness.MTTRMedian = p(float64(workers)), p(float64(workers))
	return s
}
