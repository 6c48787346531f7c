package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of testdata are what the programs of that version printed.
func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type parseCase struct {
	name, text string
	want       float64
	err        string
}

func checkParse(t *testing.T, cases []parseCase, parse func(string) (float64, error)) {
	t.Helper()
	for _, c := range cases {
		got, err := parse(c.text)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: got %v, %v, want %v\n%s", c.name, got, err, c.want, c.text)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got %v, error %v, want one with %q\n%s", c.name, got, err, c.err, c.text)
		}
	}
}

func TestParseRedisBenchmark(t *testing.T) {
	set := testdata(t, "redis-benchmark-7.0.15-set.csv")
	checkParse(t, []parseCase{
		{"set", set, 38461.54, ""},
		{"script", testdata(t, "redis-benchmark-7.0.15-evalsha.csv"), 45045.04, ""},
		{"before version 7: no header", "\"SET k v\",\"38461.54\"\n", 38461.54, ""},
		{"an unknown script", testdata(t, "redis-benchmark-7.0.15-noscript.csv"), 0, "no rate"},
		{"nothing", "", 0, "no rate"},
		{"two commands", set + set, 0, "more than one command"},
		{"no number", "\"SET k v\",\"many\"\n", 0, `"many" is no rate`},
		{"zero", "\"SET k v\",\"0.00\"\n", 0, "no rate"},
		{"in no time at all", "\"SET k v\",\"inf\"\n", 0, "no rate"},
		{"NaN", "\"SET k v\",\"nan\"\n", 0, "no rate"},
		{"a quote left open", "\"SET k v", 0, "redis-benchmark"},
	}, parseRedisBenchmark)
}

func TestParsePgbench(t *testing.T) {
	good := testdata(t, "pgbench-15.18.txt")
	checkParse(t, []parseCase{
		{"version 15", good, 8479.100235, ""},
		{"before version 14", "tps = 622.1 (including connections establishing)\ntps = 622.977698 (excluding connections establishing)\n", 622.977698, ""},
		{"aborted", testdata(t, "pgbench-15.18-failed.txt"), 0, "no tps"},
		{"some failed", strings.Replace(good, "failed transactions: 0 (0.000%)", "failed transactions: 7 (0.084%)", 1), 0, "7 transactions failed"},
		{"nothing", "", 0, "no tps"},
		{"no transaction", "tps = 0.000000 (without initial connection time)\n", 0, "no rate"},
		{"no number", "tps = 1.2.3 (without initial connection time)\n", 0, "no rate"},
	}, parsePgbench)
}

// FuzzParse: whatever a tool prints is a rate above 0 or an error.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"redis-benchmark-7.0.15-set.csv", "redis-benchmark-7.0.15-noscript.csv", "pgbench-15.18.txt"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func(string) (float64, error){"redis-benchmark": parseRedisBenchmark, "pgbench": parsePgbench} {
			if v, err := parse(text); err == nil && (!(v > 0) || math.IsInf(v, 0)) {
				t.Errorf("%s: %v", name, v)
			}
		}
	})
}
