package results

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// latencyOf makes the latencies of a repetition whose times are given, each for
// weight operations.
func latencyOf(t testing.TB, weight int64, ns ...int64) *Latency {
	t.Helper()
	h := NewHist()
	for _, x := range ns {
		h.Record(x, weight)
	}
	l, err := h.Latency(int(weight))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// writeFile writes records to a new results file and returns its path.
func writeFile(t testing.TB, recs ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeepHistograms(t *testing.T) {
	mk := func(lock string, rep int, acquire, handoff *Latency, outcome string) *Sample {
		s := testSample(lock, rep, 1000)
		s.Acquire, s.Handoff, s.Outcome = acquire, handoff, outcome
		return s
	}
	path := writeFile(t, testRun("r"),
		mk("mcs", 0, latencyOf(t, 64, 10, 20), latencyOf(t, 1, 5), OutcomeOK),
		mk("mcs", 1, latencyOf(t, 64, 30, 1_000_003), nil, OutcomeOK),
		mk("mcs", 2, latencyOf(t, 64, 77_777_777), nil, OutcomeViolation), // says nothing
		mk("mcs", 3, &Latency{Count: 1, Max: 88_888_888}, nil, OutcomeOK), // percentiles only
		mk("mcs", 1, latencyOf(t, 64, 99_999_999), nil, OutcomeOK),        // read before
		mk("tas", 0, latencyOf(t, 1, 7), nil, OutcomeOK))
	for _, keep := range []bool{false, true} {
		var opts []BuilderOption
		if keep {
			opts = append(opts, KeepHistograms())
		}
		b := NewBuilder(opts...)
		if err := b.AddFile(path); err != nil {
			t.Fatal(err)
		}
		cells := map[string]*CellSummary{}
		for _, c := range b.Report().Runs[0].Cells() {
			cells[c.Lock] = c
		}
		mcs, tas := cells["mcs"], cells["tas"]
		if !keep {
			if mcs.AcquireHist != nil || tas.AcquireHist != nil {
				t.Error("histograms were merged without being asked for")
			}
			continue
		}
		h := mcs.AcquireHist
		if h == nil || h.Reps() != 2 || h.Samples() != 4 || h.Weight() != 256 || h.Max() != 1_000_003 {
			t.Fatalf("acquire of mcs: got %+v, want 4 samples of weight 256 from 2 repetitions, longest 1000003", h)
		}
		for _, tc := range []struct {
			pct  float64
			want int64
		}{{0, 10}, {25, 10}, {50, 20}, {75, 30}, {99.99, 1_000_003}, {100, 1_000_003}} {
			if got := h.Percentile(tc.pct); got != tc.want {
				t.Errorf("p%g: got %d, want %d", tc.pct, got, tc.want)
			}
		}
		if h := mcs.HandoffHist; h == nil || h.Reps() != 1 || h.Percentile(50) != 5 {
			t.Errorf("handoff of mcs: got %+v, want one repetition of 5 ns", h)
		}
		if h := tas.AcquireHist; h == nil || h.Max() != 7 || tas.HandoffHist != nil {
			t.Errorf("tas: got %+v and %+v, want 7 ns and no handoff", h, tas.HandoffHist)
		}
	}
}

// TestHistogramsAreCheckedWhereTheyAreDecoded: what could be a histogram passes
// a reader that does not decode it, and is an error with its place in one that
// does.
func TestHistogramsAreCheckedWhereTheyAreDecoded(t *testing.T) {
	bad := latencyOf(t, 1, 7)
	bad.HDR = bad.HDR[:len(bad.HDR)-8] + "AAAA"
	s := testSample("mcs", 0, 1000)
	s.Handoff = bad
	path := writeFile(t, testRun("r"), s)
	if err := NewBuilder().AddFile(path); err != nil {
		t.Errorf("without histograms: %v", err)
	}
	err := NewBuilder(KeepHistograms()).AddFile(path)
	var fe *FileError
	if !errors.As(err, &fe) || fe.Line != 2 || fe.Field != "handoff.hdr" || fe.Hint() == "" || !strings.Contains(err.Error(), "decode histogram") {
		t.Errorf("got %v (%+v), want an error of line 2, field handoff.hdr, with a hint", err, fe)
	}
}

func TestMergedHistRefuses(t *testing.T) {
	huge := NewHist()
	huge.Record(5, maxWeight-1)
	l, err := huge.Latency(1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := (*MergedHist)(nil).add(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.add(l); !errors.Is(err, errCounts) {
		t.Errorf("counts past 2^63: got %v, want %v", err, errCounts)
	}
}

func TestReaderKeepsHistogramsOnRequest(t *testing.T) {
	s := testSample("mcs", 0, 1000)
	s.Acquire, s.Handoff, s.Lateness = latencyOf(t, 64, 10), latencyOf(t, 1, 5), latencyOf(t, 1, 3)
	want := []string{s.Acquire.HDR, s.Handoff.HDR, s.Lateness.HDR}
	path := writeFile(t, testRun("r"), s)
	for _, keep := range []bool{false, true} {
		var opts []ReadOption
		if keep {
			opts = append(opts, WithHistograms())
		}
		_, err := ReadFile(path, func(rec Record) error {
			if rec.Sample == nil {
				return nil
			}
			for i, l := range []*Latency{rec.Sample.Acquire, rec.Sample.Handoff, rec.Sample.Lateness} {
				if keep && l.HDR != want[i] || !keep && l.HDR != "" {
					t.Errorf("histogram %d, asked for %v: got %.20q", i, keep, l.HDR)
				}
				if l.Count != 1 {
					t.Errorf("latency %d: got %+v, want one sample", i, l)
				}
			}
			return nil
		}, opts...)
		if err != nil {
			t.Fatal(err)
		}
	}
}
