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

	"lockbench/backends"
	"lockbench/internal/figure"
	"lockbench/lock"
)

// fakes are groups that measure nothing.
func fakes() []group {
	target := figure.Figure{Name: "first", Unit: "ratio", Op: figure.AtLeast, Limit: 0.8}
	other := figure.Figure{Name: "second", Unit: "ratio", Op: figure.AtLeast, Limit: 0.8}
	return []group{
		{"good", 12, 0, []figure.Figure{target, other}, func(_ context.Context, _ *bench, rounds int, ts []figure.Figure) (figure.Report, error) {
			return figure.Report{Figures: []figure.Figure{paired(ts[0], around(0.9, 1.05, rounds)), paired(ts[1], around(0.5, 1.05, rounds))}}, nil
		}},
		{"bad", 12, 0, []figure.Figure{{Name: "third", Unit: "s", Limit: 5}}, func(context.Context, *bench, int, []figure.Figure) (figure.Report, error) {
			return figure.Report{}, &backends.Error{Err: errors.New("reach Docker: no"), Tip: "start Docker"}
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
	const first, second, third = "figure first 0.9 ratio target >= 0.8 ok\n", "figure second 0.5 ratio target >= 0.8 short\n", "figure third (reach Docker: no) s target <= 5 short\n"
	for _, c := range []struct {
		name          string
		args          []string
		code          int
		stdout        string // its end
		stderr, never string
	}{
		{"all", nil, 1, first + second + third, "hint: start Docker", ""},
		{"a group: a figure that is short was measured", []string{"-only", "good"}, 0, first + second, "measuring: good", "third"},
		{"a figure", []string{"-only", "second"}, 0, second, "", "figure first"},
		{"too few rounds", []string{"-only", "first", "-rounds", "3"}, 1, "figure first (3 rounds have no 95 % interval: 6 or more have) ratio target >= 0.8 short\n", "", "second"},
		{"written", []string{"-write", doc}, 1, third, "", ""},
		{"unknown name", []string{"-only", "good,nope"}, 2, "", `no group or figure "nope"; there are good, first, second, bad, third`, "figure"},
		{"bad rounds", []string{"-rounds", "-1"}, 2, "", "-rounds -1", "figure"},
		{"bad tools", []string{"-tools", "here"}, 2, "", "want auto, path or container", "figure"},
		{"words", []string{"good"}, 2, "", "it takes flags only", "figure"},
		{"a part of the table", []string{"-only", "good", "-write", doc}, 2, "", "would lack the other figures", "figure"},
		{"no program", []string{"-program", filepath.Join(dir, "none")}, 2, "", "hint: make build", "figure"},
		{"no document", []string{"-write", program}, 2, "", "there is no line", "figure"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"-program", program}, c.args...), fakes(), &stdout, &stderr)
		if code != c.code || !strings.HasSuffix(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) ||
			c.never != "" && strings.Contains(stdout.String(), c.never) {
			t.Errorf("%s: exit %d, want %d\nstdout %s\nstderr %s", c.name, code, c.code, stdout.String(), stderr.String())
		}
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n" + marks.Begin, "| first | 0.9 | ", "| >= 0.8 | short |", "| third | not measured: reach Docker: no | | | <= 5 | short |", marks.End + "\nafter\n"} {
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

// TestGroups: names are unique, and groups on one topology follow each other.
func TestGroups(t *testing.T) {
	all := names(groups())
	if u := slices.Compact(slices.Sorted(slices.Values(all))); len(u) != len(all) {
		t.Errorf("names are not unique: %q", all)
	}
	var order []string
	for _, g := range groups() {
		order = append(order, g.name)
		if g.rounds < 1 || len(g.targets) == 0 || g.takes <= 0 {
			t.Errorf("group %+v", g)
		}
		for _, f := range g.targets {
			if topology, ok := strings.CutPrefix(f.Name, startPrefix); ok {
				if _, err := backends.TopologyNamed(topology); err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
			}
		}
	}
	want := []string{"redis-pair", "peers-redis", "handoff", "peers-etcd", "peers-zookeeper", "pg", "start"}
	if !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
}

// TestGiven: what is given to lockbench is what it reads.
func TestGiven(t *testing.T) {
	for _, c := range []lock.Target{
		{Service: "redis", Topology: "redis", Addrs: []string{"127.0.0.1:7000"}},
		{Service: "etcd", Topology: "etcd-3", Addrs: []string{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"}},
		{Service: "zookeeper", Topology: "zookeeper-1", Addrs: []string{"127.0.0.1:7000"}},
		{Service: "postgres", Topology: "postgres", Addrs: []string{"127.0.0.1:7000"}, User: "lockbench", Password: "a/b@c?d#e:%", Database: "lockbench"},
	} {
		got, err := given(c)
		if err != nil {
			t.Errorf("%s: %v", c.Topology, err)
			continue
		}
		service, raw, _ := strings.Cut(got, "=")
		back, err := backends.ParseURL(service, raw)
		if err != nil || service != c.Service || !slices.Equal(back.Addrs, c.Addrs) || back.User != c.User || back.Password != c.Password ||
			back.Database != c.Database || back.Topology != c.Topology {
			t.Errorf("%s: came back as another target, or with %v", c.Topology, err)
		}
	}
	for _, c := range []lock.Target{{Service: "loopback", Topology: "loopback"}, {Service: "redis", Master: "m"}, {Service: "redis", TLS: &lock.TLS{}}} {
		if _, err := given(c); err == nil {
			t.Errorf("%s with %+v: no error", c.Service, c)
		}
	}
}
