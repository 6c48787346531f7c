package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "old.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, data := range map[string]string{
		"a.jsonl": string(text), "x=y.jsonl": string(text), "deep/er/b.jsonl": strings.ReplaceAll(string(text), "old-run", "second"),
		"deep/a.jsonl": string(text), "deep/notes.txt": "no results", "none/readme": "",
		"empty/e.jsonl": "", "future/f.jsonl": `{"type":"run","schema":2}`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		arg, label string
		files      []string
		err        string
	}{
		{"a.jsonl", "old", []string{"a.jsonl"}, ""},
		{"before=a.jsonl", "before", []string{"a.jsonl"}, ""},
		{"x=y.jsonl", "old", []string{"x=y.jsonl"}, ""},
		{"l=x=y.jsonl", "l", []string{"x=y.jsonl"}, ""},
		{"deep", "old", []string{"deep/a.jsonl", "deep/er/b.jsonl"}, ""},
		{"d=deep", "d", []string{"deep/a.jsonl", "deep/er/b.jsonl"}, ""},
		{"none", "", nil, "none: no results file"},
		{"missing", "", nil, "missing: open results: "},
		{"=a.jsonl", "", nil, "=a.jsonl: open results: "},
		{"l=missing", "", nil, "missing: open results: "},
		{"empty", "", nil, "no records"},
		{"future", "", nil, "schema version 2"},
	} {
		s, err := Load(x.arg, "old")
		if err != nil || x.err != "" {
			if x.err == "" || err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: got error %v, want %q", x.arg, err, x.err)
			}
			continue
		}
		var files []string
		for _, r := range s.Report.Runs {
			files = append(files, r.Files...)
		}
		if s.Label != x.label || !slices.Equal(files, x.files) {
			t.Errorf("%s: got %q of %q, want %q of %q", x.arg, s.Label, files, x.label, x.files)
		}
	}
}

func TestFilters(t *testing.T) {
	cells := []Named{
		{"mcs/workload=moderate/workers=2", "mcs", "moderate", 2}, {"mcs-park/workload=moderate/workers=2", "mcs-park", "moderate", 2},
		{"mcs/workload=long/workers=8", "mcs", "long", 8}, {"tas/workload=long/workers=2", "tas", "long", 2},
	}
	for _, x := range []struct {
		filters []string
		want    []int
		err     string
	}{
		{nil, []int{0, 1, 2, 3}, ""},
		{[]string{"mcs/workload=moderate/workers=2"}, []int{0}, ""},
		{[]string{"mcs*"}, []int{0, 1, 2}, ""},
		{[]string{"*workers=2"}, []int{0, 1, 3}, ""},
		{[]string{"lock=mcs"}, []int{0, 2}, ""},
		{[]string{"lock=mcs", "lock=tas"}, []int{0, 2, 3}, ""},
		{[]string{"lock=mcs*", "workers=2"}, []int{0, 1}, ""},
		{[]string{"workload=long", "workers=[0-4]"}, []int{3}, ""},
		{[]string{"lock=mcs", "lock=nothing"}, nil, `filter "lock=nothing" matches no cell`},
		{[]string{"lock=tas", "workload=moderate"}, nil, "together match no cell"},
		{[]string{"look=mcs"}, nil, `unknown key "look"`},
		{[]string{""}, nil, "empty"},
		{[]string{"lock="}, nil, "empty"},
		{[]string{"lock=[a"}, nil, "bad pattern"},
	} {
		var filters []Filter
		var err error
		for _, text := range x.filters {
			var f Filter
			if f, err = ParseFilter(text); err != nil {
				break
			}
			filters = append(filters, f)
		}
		var got []Named
		if err == nil {
			got, err = filter(filters, cells, func(n Named) Named { return n })
		}
		if err != nil || x.err != "" {
			if err == nil || x.err == "" || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%q: got error %v, want %q", x.filters, err, x.err)
			}
			continue
		}
		var want []Named
		for _, i := range x.want {
			want = append(want, cells[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", x.filters, got, want)
		}
	}
}
