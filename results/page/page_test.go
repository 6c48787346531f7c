package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
)

func written(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, "svg.chart{fill:none}\n"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPolicy: the policy allows exactly the style and the script that are there.
// The browser would refuse others; this says which.
func TestPolicy(t *testing.T) {
	out := written(t, &Page{Title: "t"})
	for _, element := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(out, -1)
		if len(m) != 1 {
			t.Fatalf("%d elements %s, want 1", len(m), element)
		}
		sum := sha256.Sum256([]byte(m[0][1]))
		want := element + "-src &#39;sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "&#39;"
		if !strings.Contains(out, want) {
			t.Errorf("the policy has no %s", want)
		}
	}
	if !strings.Contains(out, `content="default-src &#39;none&#39;;`) {
		t.Error("the policy does not forbid everything else")
	}
}

// TestNothingFromOutside: no address in the page leads out of it.
func TestNothingFromOutside(t *testing.T) {
	for _, part := range []string{pageHTML, pageCSS, pageJS} {
		for _, bad := range []string{"http:", "https:", "//cdn", "@import", "url(", "fetch(", "XMLHttpRequest", "src="} {
			if strings.Contains(part, bad) {
				t.Errorf("%q in the page", bad)
			}
		}
	}
}

func TestEscapes(t *testing.T) {
	evil := `</script><script>x</script>"'`
	cell := Cell{Text: evil}
	out := written(t, &Page{
		Title: evil, Subtitle: evil, Warnings: []string{evil}, Columns: []Entry{{evil, evil}}, Marks: []Entry{{evil, evil}},
		Runs: []Run{{Name: evil, Alarms: []string{evil}, Warnings: []string{evil}, Doubts: []string{evil}, Facts: []Fact{{evil, evil}},
			Table: &Table{Columns: []Column{{Head: evil, Text: true}, {Head: evil, Text: true}}, Workloads: []string{evil}, Workers: []int{1},
				Rows: []Row{{Lock: evil, Workload: evil, Kind: evil, Cells: []Cell{cell, cell}, Marks: []Mark{{Text: evil}}}}},
			Phases: []Phases{{evil, []string{evil}, [][]string{{evil}}}}, Groups: []Group{{evil, []Chart{{Title: evil, Caption: []string{evil}, Workload: evil}}}},
			NoCharts: evil, Method: evil}},
	})
	if n := strings.Count(out, "<script>"); n != 1 {
		t.Errorf("%d scripts, want 1", n)
	}
	if n := strings.Count(out, "&lt;/script&gt;&lt;script&gt;x"); n < 25 {
		t.Errorf("the text is shown %d times, want at least 25", n)
	}
}

func TestSort(t *testing.T) {
	of := func(v float64) Cell { return Cell{Number: &v} }
	for _, tc := range []struct {
		cell Cell
		want string
	}{{Cell{}, ""}, {of(0), "0"}, {of(1.5e-9), "1.5e-09"}, {of(math.Inf(1)), "Infinity"}} {
		if got := tc.cell.Sort(); got != tc.want {
			t.Errorf("Sort of %v: got %q, want %q", tc.cell.Number, got, tc.want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteError(t *testing.T) {
	if err := (&Page{}).Write(broken{}, ""); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("got %v", err)
	}
}
