package expect

import (
	"errors"
	"strings"
	"testing"

	"lockbench/internal/yamldoc"
)

// small is a table of two locks.
const small = `
groups:
  fenced: [a, b]
sources:
  paper: Somebody, Something, 1999
  manual: The manual
rules:
  - cells:
      - {verdict: safe, why: Nothing happens., source: [paper], bound: T}
  - faults: [pause]
    cells:
      - verdict: unsafe
        why: It
          is late.
        source: [paper, manual]
      - {locks: [fenced], policies: [careless], verdict: safe-with-fence, why: It is refused., source: manual}
      - {locks: [b], topologies: [two*], bound: T + poll}
      - {locks: [c], bound: none}
      - {locks: [c], topologies: [one], verdict: skipped, why: There is none.}
findings:
  - {faults: [pause], locks: [a], policies: [careful], seen: safe, note: It is faster., see: docs/F.md#a-b}
`

var smallSubjects = []Subject{
	{Lock: "a", Topologies: []string{"one"}, Faults: []string{"none", "pause"}, Policies: []string{"careful", "careless"}},
	{Lock: "b", Topologies: []string{"one", "two-x"}, Faults: []string{"none", "pause"}, Policies: []string{"careful", "careless"}},
	{Lock: "c", Topologies: []string{"one", "two-x"}, Faults: []string{"none", "pause"}, Policies: []string{"guarded"}},
}

func mustLoad(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestLookup(t *testing.T) {
	table := mustLoad(t, small)
	for _, tc := range []struct {
		cell                    Cell
		verdict, bound, why, by string
		seen, note              string
	}{
		{Cell{"a", "one", "none", "careful"}, "safe", "T", "Nothing happens.", "Somebody, Something, 1999", "", ""},
		{Cell{"a", "one", "pause", "careful"}, "unsafe", "T", "It is late.", "Somebody, Something, 1999; The manual", "safe", "It is faster. See docs/F.md#a-b."},
		{Cell{"a", "one", "pause", "careless"}, "safe-with-fence", "T", "It is refused.", "The manual", "", ""},
		{Cell{"b", "one", "pause", "careless"}, "safe-with-fence", "T", "It is refused.", "The manual", "", ""},
		{Cell{"b", "two-x", "pause", "careful"}, "unsafe", "T + poll", "It is late.", "Somebody, Something, 1999; The manual", "", ""},
		{Cell{"c", "two-x", "pause", "guarded"}, "unsafe", "", "It is late.", "Somebody, Something, 1999; The manual", "", ""},
		{Cell{"c", "one", "pause", "guarded"}, "skipped", "", "There is none.", "", "", ""},
	} {
		e, ok := table.Lookup(tc.cell.Lock, tc.cell.Topology, tc.cell.Fault, tc.cell.Policy)
		bound := ""
		if e.Bound != nil {
			bound = e.Bound.String()
		}
		if !ok || e.Verdict != tc.verdict || bound != tc.bound || e.Why != tc.why || e.Source != tc.by || e.Seen != tc.seen || e.Note != tc.note {
			t.Errorf("%v: got %+v, bound %q, %v, want %+v", tc.cell, e, bound, ok, tc)
		}
	}
	none := mustLoad(t, "rules:\n  - faults: [kill]\n    cells: [{verdict: skipped, why: No.}]")
	if e, ok := none.Lookup("a", "one", "pause", "careful"); ok {
		t.Errorf("a cell of which nothing is said: got %+v", e)
	}
}

func TestLoadErrors(t *testing.T) {
	const source = "sources: {s: x}\n"
	for _, tc := range []struct{ in, want string }{
		{"", "the file is empty"},
		{"groups: {g: [a]}", "1:1: the file has no rules"},
		{"ruls: []", `1:1: unknown key "ruls"`},
		{"rules: {a: b}", "1:8: rules: want a list"},
		{"rules:\n- faults: [x]", "2:3: an entry of rules without cells"},
		{"rules:\n- fault: [x]", `2:3: unknown key "fault"`},
		{"rules:\n- cells: [{locks: [a]}]", "neither a verdict nor a bound"},
		{"rules:\n- cells:\n  - verdict: good", `3:14: verdict: "good" is none`},
		{"rules:\n- cells:\n  - verdict: safe", "3:5: a verdict without a reason"},
		{"rules:\n- cells:\n  - {verdict: safe, why: So.}", "a verdict without a source"},
		{"rules:\n- cells:\n  - {verdict: skipped, why: so}", `does not end with a full stop`},
		{"rules:\n- cells:\n  - {verdict: skipped, why: ''}", "why is empty"},
		{"rules:\n- cells:\n  - {verdict: skipped, why: So., bound: T}", "a bound of a cell that is skipped"},
		{"rules:\n- cells:\n  - {bound: T, why: So.}", "a reason without a verdict"},
		{"rules:\n- cells:\n  - {bound: X}", `3:13: formula "X": nothing is named "X"`},
		{"rules:\n- cells:\n  - {bound: T, locks: []}", "locks: an empty list"},
		{"rules:\n- cells:\n  - {bound: T, locks: ['*']}", `locks: "*" is no name`},
		{"rules:\n- cells:\n  - {bound: T, lock: [a]}", `unknown key "lock"`},
		{source + "rules:\n- cells:\n  - {verdict: safe, why: So., source: [x]}", `no source is named "x"`},
		{source + "rules:\n- cells:\n  - {bound: T}", `"s" is used nowhere`},
		{"groups: {g: [a]}\nrules:\n- cells:\n  - {bound: T}", `"g" is used nowhere`},
		{"groups: {g: [a, a]}\nrules: []", `group g has "a" twice`},
		{"groups: {g: ['a*']}\nrules: []", `"a*" is no name of a lock`},
		{"groups: {g: []}\nrules: []", "group g has no members"},
		{"groups: {G: [a]}\nrules: []", `"G" is no name`},
		{"rules: []\nfindings:\n- {faults: [x], locks: [a], seen: safe, note: So.}", "a finding without see"},
		{"rules: []\nfindings:\n- {faults: [x], locks: [a], seen: unknown, note: So., see: x}", `seen: "unknown" is none`},
		{"rules: []\n---\nrules: []", "a second document"},
	} {
		table, err := Load([]byte(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, %v, want an error with %q", tc.in, table, err, tc.want)
		}
		var at *yamldoc.Error
		if tc.in != "" && !errors.As(err, &at) {
			t.Errorf("%q: the error has no place: %v", tc.in, err)
		}
	}
}

func TestComplete(t *testing.T) {
	if errs := mustLoad(t, small).Complete(smallSubjects); len(errs) > 0 {
		t.Errorf("got %v, want no error", errs)
	}
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"a cell without a verdict", "rules:\n- faults: [none]\n  cells:\n  - {verdict: skipped, why: No.}",
			[]string{"no expectation of a on one under pause, policy careful"}},
		{"an entry below which all is said again", "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {verdict: skipped, why: No more.}",
			[]string{"line 3: the entry decides no cell"}},
		{"a bound below which all is said again", "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {bound: T}\n  - {bound: tick}",
			[]string{"line 4: the entry decides no cell"}},
		{"a name of nothing", "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {bound: T, locks: [a, x], topologies: [one], policies: [careful, plain]}",
			[]string{`line 4: lock "x" matches nothing there`, `line 4: policy "plain" matches nothing there`}},
		{"a name that matches elsewhere", "rules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {bound: T, locks: [b], topologies: [two*], policies: [guarded, careful]}",
			[]string{`line 4: policy "guarded" matches nothing there`}},
		{"a group of an unknown lock", "groups: {g: [a, x]}\nrules:\n- cells:\n  - {verdict: skipped, why: No.}\n  - {bound: T, locks: [g]}",
			[]string{`line 5: group "g": there is no lock "x"`}},
		{"a finding that is none", "rules:\n- cells:\n  - {verdict: skipped, why: No.}\nfindings:\n- {faults: [none], locks: [a], seen: skipped, note: So., see: x}",
			[]string{"line 5: the finding differs from no expectation"}},
	} {
		errs := mustLoad(t, tc.in).Complete(smallSubjects)
		for _, want := range tc.want {
			found := false
			for _, err := range errs {
				found = found || err.Error() == want
			}
			if !found {
				t.Errorf("%s: %q: got %v, want %q among them", tc.name, tc.in, errs, want)
			}
		}
	}
}

func TestCells(t *testing.T) {
	got := Cells(smallSubjects)
	if len(got) != 4+8+4 || got[0] != (Cell{"a", "one", "none", "careful"}) || got[len(got)-1] != (Cell{"c", "two-x", "pause", "guarded"}) {
		t.Errorf("got %d cells, %v to %v", len(got), got[0], got[len(got)-1])
	}
}

// FuzzLoad: what loads can be looked up and printed; what does not is an error and no panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("rules:\n- faults: [x*]\n  cells:\n  - {bound: T + 2 * poll}"))
	f.Add([]byte("groups: &g {a: [b]}\nrules: *g"))
	f.Add([]byte("rules: [{cells: [{verdict: skipped, why: No., locks: a}]}]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Load(b)
		if err != nil {
			return
		}
		for _, c := range Cells(smallSubjects) {
			e, ok := table.Lookup(c.Lock, c.Topology, c.Fault, c.Policy)
			if ok && (e.Verdict == "" || e.Why == "") {
				t.Fatalf("%q: %v: got %+v", b, c, e)
			}
		}
		var out strings.Builder
		if err := table.Markdown(&out, smallSubjects, []string{"none", "pause"}); err != nil || out.Len() == 0 {
			t.Fatalf("%q: print: %d bytes, %v", b, out.Len(), err)
		}
	})
}
