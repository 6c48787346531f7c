package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// decodeSlowly is what the Reader's fast path must be equal to: encoding/json
// alone, and the histograms left out afterwards.
func decodeSlowly(line []byte) (*Sample, error) {
	s := new(Sample)
	if err := json.Unmarshal(line, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for _, l := range []*Latency{s.Acquire, s.Handoff, s.Lateness, s.Remote.release()} {
		if l != nil {
			l.HDR = ""
		}
	}
	return s, nil
}

// agree compares the two on one line and returns whether it was accepted.
func agree(t *testing.T, line []byte) bool {
	t.Helper()
	want, wantErr := decodeSlowly(bytes.Clone(line))
	r := NewReader(nil, "in")
	rec, err := r.sample(Record{}, bytes.Clone(line), hintDamaged)
	switch {
	case (err == nil) != (wantErr == nil):
		t.Errorf("%.300q: got %v, encoding/json says %v", line, err, wantErr)
	case err == nil && !reflect.DeepEqual(rec.Sample, want):
		t.Errorf("%.300q: got\n%+v, encoding/json says\n%+v", line, rec.Sample, want)
	case err != nil:
		// The text of the errors, too, apart from the place.
		var slow error
		switch e := wantErr.(type) {
		case *FieldError:
			slow = r.fail(e.Field, e.Err, hintRange)
		default:
			slow = r.jsonError(wantErr, hintDamaged)
		}
		if err.Error() != slow.Error() {
			t.Errorf("%.300q: got %q, want %q", line, err, slow)
		}
	}
	return err == nil
}

// sampleSeeds are lines that a decoder may get wrong.
func sampleSeeds(t testing.TB) []string {
	full := sampleLine(t, func(s *Sample) {
		s.Acquire, s.Handoff, s.Lateness = latencyOf(t, 64, 10, 20), latencyOf(t, 1, 5), latencyOf(t, 1, 3)
		s.Reason, s.Flags = `two"quotes\ and µ`, []string{"gc: 1", "busy"}
		s.ContendedPct = new(float64)
		s.Phases = []Phase{{Workers: 1, ElapsedNS: 1, Ops: 0}}
	})
	full = strings.TrimSuffix(full, "\n")
	hdr := latencyOf(t, 1, 7).HDR
	with := func(fields string) string { return full[:len(full)-1] + "," + fields + "}" }
	seeds := []string{full, full[:len(full)/2], full + full, full + "x", "\ufeff" + full, full + "\x00", "null", "[]", "{}", ""}
	for _, f := range []string{
		`"hdr":"` + hdr + `"`, `"hdr":"***"`, `"hdr":""`, `"hdr":"`, `"hdr":"` + hdr, `"x\"hdr":"` + hdr + `"`, `"x"hdr":"` + hdr + `"`,
		`"x":"\"hdr\":\"` + hdr + `"`, `"acquire":{"count":1,"hdr":"***"}`, `"acquire":{"count":1,"hdr":"***","hdr":"` + hdr + `"}`,
		`"acquire":{"count":1,"hdr":"` + hdr + `","hdr":"***"}`, `"acquire":{"count":1,"HDR":"` + hdr + `"}`, `"acquire":{"count":1,"hdr": "` + hdr + `"}`,
		`"acquire":{"count":1,"hdr":"\u0048ISTF` + hdr[5:] + `"}`, `"acquire":{"count":1,"hdr":"HISTF"}`, `"acquire":{"hdr":null}`, `"acquire":{"hdr":7}`,
		`"acquire":null`, `"acquire":[]`, `"lateness":{"p50_ns":3}`,
		`"rep":01`, `"rep":1.`, `"rep":-`, `"rep":1.0`, `"rep":1e0`, `"rep":"3"`, `"rep":null`, `"rep":+3`, `"rep":0x3`, `"rep":1_0`, `"rep":9223372036854775808`,
		`"REP":3`, `"rep":3,"rep":4`, `"\u0072ep":3`, `"seed":-1`, `"seed":18446744073709551616`, `"ſeed":3`, `"worKers":3`,
		`"throughput_opſ_s":9`, `"throughput_op\u017f_s":9`, `"throughput_op\u017F_s":9`, `"wor\u212Aers":3`, `"reason":"ſ"`,
		`"x":01`, `"x":1.`, `"x":-`, `"x":.5`, `"x":1e`, `"x":nul`, `"x":tru`, "\"x\":\"\x01\"", `"x":"\q"`, `"x":"\u12"`, `"x":[[[[]]]`, `"x":{"y":"z}`,
		"\"reason\":\"\x01\"", "\"reason\":\"\xff\"", `"reason":"\ud800"`, `"reason":"a"b"`, `"reason":3`, `"control":1`, `"control":"true"`,
		`"contended_pct":NaN`, `"contended_pct":1e400`, `"contended_pct":-0`, `"contended_pct":-1`, `"contended_pct":"1"`, `"contended_pct":Infinity`,
		`"per_worker_ops":[500,500,]`, `"per_worker_ops":[500,501]`, `"per_worker_ops":{}`, `"per_worker_ops":null`, `"flags":[null,"a"]`, `"flags":["a" "b"]`,
		`"phases":[{}]`, `"phases":[null]`, `"fairness":null`, `"fairness":{"jain":null}`, `"fairness":{"jain":2}`, `"cpus":[0,-1,1e2]`, `,`, ``,
		`"x":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	} {
		seeds = append(seeds, with(f))
	}
	var out bytes.Buffer
	if err := NewWriter(&out, "").Write(remoteSample(t, "redis", "/topology=redis-aof", 0, 1000)); err != nil {
		t.Fatal(err)
	}
	remote := strings.TrimSuffix(out.String(), "\n")
	for _, f := range []string{``, `"remote":null`, `"remote":7`, `"remote":{"service":"x","ttl_ns":-1}`, `"remote":{"service":"x","release":{"hdr":"***"}}`,
		`"remote":{"service":"x","timeouts":1e3}`, `"remote":{"service":"x","handoff_trip_counts":[1,null]}`, `"remote":{"wait_jitter":"1"}`} {
		seeds = append(seeds, strings.TrimSuffix(remote[:len(remote)-1]+","+f, ",")+"}")
	}
	return seeds
}

func TestFastDecoderAgrees(t *testing.T) {
	accepted := 0
	seeds := sampleSeeds(t)
	for _, s := range seeds {
		if agree(t, []byte(s)) {
			accepted++
		}
	}
	if accepted < 20 || len(seeds)-accepted < 40 {
		t.Errorf("%d of %d lines are accepted: the seeds do not try both", accepted, len(seeds))
	}
}

func FuzzDecodeSample(f *testing.F) {
	for _, s := range sampleSeeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { agree(t, line) })
}

func TestDropHists(t *testing.T) {
	h := latencyOf(t, 1, 7).HDR
	for _, tc := range []struct{ in, want string }{
		{``, ``},
		{`{"hdr":"` + h + `"}`, `{"hdr":""}`},
		{`{"a":{"hdr":"` + h + `","x":1},"b":{"hdr":"` + h + `"}}`, `{"a":{"hdr":"","x":1},"b":{"hdr":""}}`},
		{`{"hdr":""}`, `{"hdr":""}`},
		{`{"hdr":"***"}`, `{"hdr":"***"}`},
		{`{"hdr":"***","hdr":"` + h + `"}`, `{"hdr":"***","hdr":""}`},
		{`{"hdr":"` + h, `{"hdr":"` + h},
		{`{"reason":"\"hdr\":\"` + h + `"}`, `{"reason":"\"hdr\":\"` + h + `"}`},
	} {
		if got := string(dropHists([]byte(tc.in))); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.in, got, tc.want)
		}
	}
}

// benchFile is n lines as the Writer writes them.
func benchFile(b *testing.B, n int) []byte {
	line := sampleLine(b, func(s *Sample) {
		h := NewHist()
		for i := range int64(2000) {
			h.Record(50+i*i%4001, 64)
		}
		l, err := h.Latency(64)
		if err != nil {
			b.Fatal(err)
		}
		s.Acquire, s.Handoff = l, l
	})
	return []byte(runLine + strings.Repeat(line, n))
}

func BenchmarkReader(b *testing.B) {
	const lines = 1000
	in := benchFile(b, lines)
	for _, bc := range []struct {
		name string
		opts []ReadOption
	}{{"hists=no", nil}, {"hists=yes", []ReadOption{WithHistograms()}}} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for rec, err := range NewReader(bytes.NewReader(in), "in", bc.opts...).Records() {
					if err != nil {
						b.Fatal(err)
					}
					if rec.Sample != nil {
						n++
					}
				}
				if n != lines {
					b.Fatal(fmt.Errorf("%d samples, want %d: %w", n, lines, io.ErrUnexpectedEOF))
				}
			}
		})
	}
}
