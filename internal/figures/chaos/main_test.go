package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/figure"
)

// fakes are groups that measure nothing.
func fakes() []group {
	target := func(name string) figure.Figure { return figure.Figure{Name: name, Unit: "s", Limit: 5} }
	return []group{
		{"good", 3, 2, 0, []figure.Figure{target("first"), target("second")}, func(_ context.Context, _ *bench, s size, ts []figure.Figure) (figure.Report, error) {
			var rep figure.Report
			for _, t := range ts {
				rep.Figures = append(rep.Figures, t.Worst([]float64{float64(s.rounds), float64(s.repeat)}))
			}
			return rep, nil
		}},
		{"bad", 0, 0, 0, []figure.Figure{target("third")}, func(_ context.Context, _ *bench, s size, _ []figure.Figure) (rep figure.Report, err error) {
			rep.Remark("%d and %d", s.rounds, s.repeat)
			return rep, errors.New("no Docker")
		}},
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	program, doc := filepath.Join(dir, "lockbench"), filepath.Join(dir, "doc.md")
	for path, text := range map[string]string{program: "", doc: "before\n" + marks.Begin + "\nold\n" + marks.End + "\nafter\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first, second, third = "figure first 3 s target <= 5 ok\n", "figure second 3 s target <= 5 ok\n", "figure third (no Docker) s target <= 5 short\n"
	for _, c := range []struct {
		name          string
		args          []string
		code          int
		stdout        string // its end
		stderr, never string
	}{
		{"all", nil, 1, first + second + third, "not measured: bad: no Docker", ""},
		{"a group", []string{"-only", "good"}, 0, first + second, "measuring: good", "third"},
		{"a figure", []string{"-only", "second"}, 0, "figure second 3 s target <= 5 ok\n", "", "first"},
		{"rounds: a figure that is short was measured", []string{"-only", "first", "-rounds", "7"}, 0, "figure first 7 s target <= 5 short\n", "", "second"},
		{"repetitions", []string{"-only", "first", "-rounds", "1", "-repeat", "4"}, 0, "figure first 4 s target <= 5 ok\n", "", "second"},
		{"nothing is repeated", []string{"-only", "bad", "-repeat", "4"}, 1, third, "", "0 and 4"},
		{"as JSON", []string{"-only", "second", "-json"}, 0, `{"name":"second","unit":"s","value":3,"lo":2,"hi":3,"n":2,"op":"<=","limit":5,"ok":true}` + "\n", "", "figure"},
		{"written", []string{"-write", doc}, 1, third, "", ""},
		{"unknown name", []string{"-only", "good,nope"}, 2, "", `no group or figure "nope"; there are good, first, second, bad, third`, "figure"},
		{"bad rounds", []string{"-rounds", "-1"}, 2, "", "-rounds -1", "figure"},
		{"bad repetitions", []string{"-repeat", "-1"}, 2, "", "-repeat -1", "figure"},
		{"no such records", []string{"-file", filepath.Join(dir, "none")}, 2, "", "-file: stat", "figure"},
		{"words", []string{"good"}, 2, "", "it takes flags only", "figure"},
		{"a part of the table", []string{"-only", "good", "-write", doc}, 2, "", "would lack the other figures", "figure"},
		{"no program", []string{"-program", filepath.Join(dir, "none")}, 2, "", "hint: make build", "figure"},
		{"no place in the document", []string{"-write", program}, 2, "", "there is no line", "figure"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"-program", program}, c.args...), fakes(), &stdout, &stderr)
		if code != c.code || !strings.HasSuffix(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) ||
			c.never != "" && strings.Contains(stdout.String(), c.never) {
			t.Errorf("%s: %q: exit %d, want %d\nstdout %s\nstderr %s", c.name, c.args, code, c.code, stdout.String(), stderr.String())
		}
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n" + marks.Begin, "Measured on ", "| first | 3 s | 2 to 3 | 2 | <= 5 | ok |", "| third | not measured: no Docker | | | <= 5 | short |",
		"\n- 0 and 0\n", marks.End + "\nafter\n"} {
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "old") {
			t.Errorf("want %q in the document:\n%s", want, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, []string{"-program", program}, fakes(), &stdout, &stderr); code != 130 || stdout.Len() > 0 {
		t.Errorf("interrupted: exit %d\n%s", code, stdout.String())
	}
}

// TestGroups: names are unique words, each group has targets and says how long it takes.
func TestGroups(t *testing.T) {
	all := names(groups())
	if u := slices.Compact(slices.Sorted(slices.Values(all))); len(u) != len(all) {
		t.Errorf("names are not unique: %q", all)
	}
	for _, g := range groups() {
		if len(g.targets) == 0 || g.takes <= 0 || g.measure == nil {
			t.Errorf("group %+v", g)
		}
		for _, f := range g.targets {
			if f.Unit == "" || !strings.HasPrefix(f.Name, "chaos-") {
				t.Errorf("%s: target %+v", g.name, f)
			}
		}
	}
	if !slices.Contains(all, "chaos-repeat-zookeeper") {
		t.Errorf("got %q", all)
	}
}

// TestDocument: the page has a place for the table, and a heading or a paragraph for each figure.
func TestDocument(t *testing.T) {
	const page = "../../../docs/BENCH_CHAOS.md"
	if err := marks.Check(page); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups() {
		for _, f := range g.targets {
			if !strings.Contains(string(text), f.Name) {
				t.Errorf("%s does not tell of %s", page, f.Name)
			}
		}
	}
}
