package results

import (
	"math"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func TestHistMemory(t *testing.T) {
	// The figures in the comment on the geometry.
	for _, tc := range []struct{ digits, kib int }{{2, 36}, {3, 264}} {
		got := hdr.New(HistMinNS, HistMaxNS, tc.digits).ByteSize() / 1024
		if got != tc.kib {
			t.Errorf("%d digits: got %d KiB, want %d", tc.digits, got, tc.kib)
		}
	}
}

func TestHistPercentiles(t *testing.T) {
	h := NewHist()
	for ns := int64(1); ns <= 10000; ns++ {
		h.Record(ns, 1)
	}
	for _, tc := range []struct {
		pct  float64
		want int64
	}{{50, 5000}, {90, 9000}, {99, 9900}, {99.9, 9990}, {100, 10000}} {
		got := h.Percentile(tc.pct)
		if got < tc.want || float64(got) > 1.008*float64(tc.want) {
			t.Errorf("percentile %g: got %d, want %d to 0.8 %% more", tc.pct, got, tc.want)
		}
	}
	if got := h.Percentile(100); got != 10000 {
		t.Errorf("maximum: got %d, want 10000 exactly", got)
	}
}

func TestHistWeights(t *testing.T) {
	h := NewHist()
	h.Record(10, 90)
	h.Record(200, 10)
	h.Record(77, 0)
	h.Record(77, -1)
	if h.Samples() != 2 || h.Weight() != 100 {
		t.Errorf("got %d samples of weight %d, want 2 of 100", h.Samples(), h.Weight())
	}
	if got := h.Percentile(90); got != 10 {
		t.Errorf("p90: got %d, want 10", got)
	}
	if got := h.Percentile(91); got != 200 {
		t.Errorf("p91: got %d, want 200", got)
	}
}

func TestHistClamps(t *testing.T) {
	for _, tc := range []struct {
		in, want, clamped int64
	}{{-5, 0, 1}, {0, 0, 0}, {1, 1, 0}, {HistMaxNS, HistMaxNS, 0}, {HistMaxNS + 1, HistMaxNS, 1}, {math.MaxInt64, HistMaxNS, 1}} {
		h := NewHist()
		h.Record(tc.in, 1)
		if got := h.Percentile(100); got != tc.want || h.Clamped() != tc.clamped {
			t.Errorf("record %d: got %d, %d clamped; want %d, %d", tc.in, got, h.Clamped(), tc.want, tc.clamped)
		}
	}
}

func TestHistEncodeMergeDecode(t *testing.T) {
	a, b := NewHist(), NewHist()
	for i := int64(0); i < 1000; i++ {
		a.Record(20+i%7, 64)
		b.Record(1000+i*i, 64)
	}
	a.Merge(b)
	a.Merge(nil)
	l, err := a.Latency(64)
	if err != nil {
		t.Fatal(err)
	}
	if l.Count != 2000 || l.Every != 64 || l.Max != 1000+999*999 {
		t.Errorf("got %+v, want 2000 samples, one in 64, max %d", l, 1000+999*999)
	}
	d, err := DecodeHist(l.HDR)
	if err != nil {
		t.Fatal(err)
	}
	if d.Weight() != a.Weight() {
		t.Errorf("decoded weight: got %d, want %d", d.Weight(), a.Weight())
	}
	for _, pct := range []float64{50, 90, 99, 99.9} {
		if got, want := d.Percentile(pct), a.Percentile(pct); got != want {
			t.Errorf("decoded percentile %g: got %d, want %d", pct, got, want)
		}
	}
	// Other implementations commonly write three digits.
	three := hdr.New(1, HistMaxNS, 3)
	if err := three.RecordValues(12345, 7); err != nil {
		t.Fatal(err)
	}
	enc, err := three.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	if d, err := DecodeHist(string(enc)); err != nil || d.Weight() != 7 {
		t.Errorf("three digits: got %v, %v", d, err)
	}
}

func TestHistEmpty(t *testing.T) {
	l, err := NewHist().Latency(64)
	if l != nil || err != nil {
		t.Errorf("empty: got %v, %v; want absent", l, err)
	}
	var none *Hist
	if l, err := none.Latency(64); l != nil || err != nil {
		t.Errorf("nil: got %v, %v; want absent", l, err)
	}
}

func TestHistReset(t *testing.T) {
	h := NewHist()
	h.Record(-1, 5)
	h.Reset()
	if h.Samples() != 0 || h.Weight() != 0 || h.Clamped() != 0 || h.Percentile(100) != 0 {
		t.Errorf("after Reset: %d samples, weight %d, %d clamped, max %d", h.Samples(), h.Weight(), h.Clamped(), h.Percentile(100))
	}
}

func TestHistRecordDoesNotAllocate(t *testing.T) {
	h := NewHist()
	n := int64(1)
	if got := testing.AllocsPerRun(100, func() { h.Record(n, 64); n = n*3%HistMaxNS + 1 }); got != 0 {
		t.Errorf("got %g allocations a recording, want 0", got)
	}
}

func TestDecodeHistRefuses(t *testing.T) {
	for _, in := range []string{"", "x", "HISTFAAAAC0=", strings.Repeat("A", maxEncodedHist+4), "not base64!"} {
		if h, err := DecodeHist(in); err == nil {
			t.Errorf("decode %.20q: got %v, want an error", in, h)
		}
	}
}

func FuzzDecodeHist(f *testing.F) {
	h := NewHist()
	h.Record(123456, 3)
	enc, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(enc)
	f.Add("HISTFAAAAC0=")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := DecodeHist(s)
		if err != nil {
			return
		}
		if p50, p99 := h.Percentile(50), h.Percentile(99); p50 > p99 || p50 < 0 {
			t.Errorf("decode %q: p50 %d, p99 %d", s, p50, p99)
		}
	})
}
