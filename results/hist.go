package results

import (
	"errors"
	"fmt"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Geometry of every histogram. With two digits a histogram takes 36 KiB, with
// three 264 KiB. A child of 8 workers has 16 of them: 0.6 MiB against 4.1 MiB; on
// 128 processors 9 MiB against 66 MiB, which is more than the child's memory
// limit of 48 MiB, so that collections would run inside the intervals. Encoded,
// two digits take about 2.8 KB a record, three 8.5 KB. The price is that a
// percentile above 256 ns is up to 0.8 % too high (below that it is exact to
// the nanosecond); the spread between repetitions is many times that. The
// maximum is kept exactly beside the histogram. hdr.NewPacked is smaller yet, but
// a recording costs 78 ns against 9 ns, inside the measured loop.
const (
	HistMinNS  = 1
	HistMaxNS  = 3600 * 1000 * 1000 * 1000 // one hour; see Hist.Record
	HistDigits = 2
)

// maxEncodedHist bounds what DecodeHist accepts, in bytes of base64. A full
// histogram of three digits with 64-bit counts stays below it.
const maxEncodedHist = 1 << 20

// A Hist is a histogram of times in nanoseconds: a weighted HdrHistogram with
// the exact maximum and the number of samples. It is for one goroutine; workers
// have one each and merge them after the stop.
type Hist struct {
	h       *hdr.Histogram
	samples int64
	clamped int64
	max     int64
}

// NewHist returns an empty histogram. Make it before the measurement: it
// allocates 36 KiB, and Record allocates nothing.
func NewHist() *Hist {
	return &Hist{h: hdr.New(HistMinNS, HistMaxNS, HistDigits)}
}

// Record adds one sample that stands for weight operations: with one in n
// sampled, n. Times below zero count as 0, above one hour as one hour, and both
// as clamped. A weight below 1 is ignored: the sample stands for nothing.
func (h *Hist) Record(ns, weight int64) {
	if weight < 1 {
		return
	}
	v := min(max(ns, 0), HistMaxNS)
	if h.h.RecordValues(v, weight) != nil {
		return // the total would pass 2^63 operations
	}
	h.samples++
	if v != ns {
		h.clamped++
	}
	h.max = max(h.max, v)
}

// Merge adds all of o to h. A nil o adds nothing.
func (h *Hist) Merge(o *Hist) {
	if o == nil {
		return
	}
	h.h.Merge(o.h)
	h.samples += o.samples
	h.clamped += o.clamped
	h.max = max(h.max, o.max)
}

// Reset empties h and keeps its memory.
func (h *Hist) Reset() {
	h.h.Reset()
	h.samples, h.clamped, h.max = 0, 0, 0
}

// Samples is the number of samples recorded; of a decoded histogram the sum of
// the weights, because the encoding does not keep it.
func (h *Hist) Samples() int64 { return h.samples }

// Weight is the number of operations that the samples stand for.
func (h *Hist) Weight() int64 { return h.h.TotalCount() }

// Clamped is the number of samples outside 0 to HistMaxNS.
func (h *Hist) Clamped() int64 { return h.clamped }

// Percentile returns the time at or below which pct percent (0 to 100) of the
// weight lies; 0 without samples.
func (h *Hist) Percentile(pct float64) int64 {
	// The histogram answers with the upper edge of a bucket, which may lie
	// above the longest time there was.
	return min(h.h.ValueAtPercentile(pct), h.max)
}

// Latency summarises h for a record; nil without samples, so that the field is
// absent. every is the sampling rate: one in so many operations.
func (h *Hist) Latency(every int) (*Latency, error) {
	if h == nil || h.samples == 0 {
		return nil, nil
	}
	enc, err := h.Encode()
	if err != nil {
		return nil, err
	}
	return &Latency{
		Count: h.samples, Every: every, Clamped: h.clamped,
		P50: h.Percentile(50), P90: h.Percentile(90), P99: h.Percentile(99), P999: h.Percentile(99.9),
		Max: h.max, HDR: enc,
	}, nil
}

// Encode returns the HdrHistogram V2 compressed form in base64, which the
// HdrHistogram tools of any language read.
func (h *Hist) Encode() (string, error) {
	b, err := h.h.EncodeV2()
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}

// histMagic is how an encoded histogram begins: the cookie of V2 compressed.
const histMagic = "HISTF"

// plausibleHist reports whether s looks like what Encode writes. It looks at
// each byte once and decodes nothing, so that long files are read fast.
func plausibleHist[T string | []byte](s T) bool {
	n := len(s)
	if n > maxEncodedHist || n%4 != 0 || n < len(histMagic) || string(s[:len(histMagic)]) != histMagic {
		return false
	}
	for range 2 { // padding
		if s[n-1] == '=' {
			n--
		}
	}
	for i := range n {
		if !inBase64[s[i]] {
			return false
		}
	}
	return true
}

// inBase64 are the digits of base64 (RFC 4648, section 4).
var inBase64 = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = true
	}
	return t
}()

// DecodeHist reads what Encode wrote, or what another HdrHistogram
// implementation did with up to 3 digits. The maximum is then the upper edge of
// its bucket.
func DecodeHist(s string) (*Hist, error) {
	p, err := decodePacked(s)
	if err != nil {
		return nil, err
	}
	h := NewHist()
	if dropped := p.MergeInto(h.h); dropped != 0 {
		return nil, fmt.Errorf("decode histogram: %d counts are longer than one hour", dropped)
	}
	h.samples, h.max = h.h.TotalCount(), h.h.Max()
	return h, nil
}

// maxWeight is the largest sum of counts; the decoder answers with it, too, for
// a sum that would be larger.
const maxWeight = math.MaxInt64 - 1

var errCounts = errors.New("decode histogram: the counts pass 2^63")

// decodePacked gives the sparse form, which allocates by what is there, while
// the dense one allocates what the header, which may be damaged, asks for.
func decodePacked(s string) (*hdr.PackedHistogram, error) {
	if len(s) > maxEncodedHist {
		return nil, fmt.Errorf("decode histogram: %d bytes, at most %d are accepted", len(s), maxEncodedHist)
	}
	p, err := hdr.DecodePacked([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if p.TotalCount() > maxWeight {
		return nil, errCounts
	}
	return p, nil
}
