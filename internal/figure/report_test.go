package figure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mixed has a figure that is met, one that could not be measured, and the same of notes.
func mixed() Report {
	r := Report{
		Figures: []Figure{safe.Measured(99.9, 99.1, 100, "95 % Clopper-Pearson", 300), fast.Failed(errors.New("no\nDocker | none"))},
		Notes:   []Figure{Note("rate", "1/s").Median([]float64{1, 2, 3, 4, 5, 6}), Note("gone", "1/s").Median(nil)},
	}
	r.Remark("two\nlines of %s", "one\x1b[31m")
	return r
}

func TestPrint(t *testing.T) {
	var text bytes.Buffer
	if err := mixed().Print(&text); err != nil {
		t.Fatal(err)
	}
	const want = `two lines of one` + "\ufffd" + `[31m
rate                             3.5 1/s, 95 % interval 1 to 6, 6 measurements, no target
gone                             not measured: no measurements; no target
found                            99.9 pct, 95 % Clopper-Pearson 99.1 to 100, 300 measurements, target >= 99 pct
cost                             not measured: no Docker | none, target <= 10 ns
figure found 99.9 pct target >= 99 ok
figure cost (no Docker | none) ns target <= 10 short
`
	if got := text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPrintJSON(t *testing.T) {
	var lines bytes.Buffer
	if err := mixed().PrintJSON(&lines); err != nil {
		t.Fatal(err)
	}
	var got []string
	for d := json.NewDecoder(&lines); d.More(); {
		var j struct {
			jsonFigure
			Remark string `json:"remark"`
		}
		if err := d.Decode(&j); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s%s %t %t %t %q", j.Remark, j.Name, j.Value != nil, j.Limit != nil, j.OK != nil && *j.OK, j.Reason))
	}
	want := []string{"two lines of one\ufffd[31m false false false \"\"", `rate true false false ""`, `gone false false false "no measurements"`,
		`found true true true ""`, `cost false true false "no\nDocker | none"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	const want = `| figure | value | interval | n | target | |
|---|---|---|---|---|---|
| found | 99.9 pct | 99.1 to 100 | 300 | >= 99 | ok |
| cost | not measured: no Docker \| none | | | <= 10 | short |
| rate | 3.5 1/s | 1 to 6 | 6 |  |  |
| gone | not measured: no measurements | | |  |  |

- two lines of one` + "\ufffd[31m\n"
	if got := mixed().Table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Report{}).Table(); strings.Count(got, "\n") != 2 {
		t.Errorf("of nothing: got %q", got)
	}
}

func TestAdd(t *testing.T) {
	r := mixed()
	r.Add(mixed())
	if len(r.Figures) != 4 || len(r.Notes) != 4 || len(r.Remarks) != 2 {
		t.Errorf("got %d figures, %d notes, %d remarks, want 4, 4, 2", len(r.Figures), len(r.Notes), len(r.Remarks))
	}
}
