package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"sync"
)

// A Page is what a report says. All strings are text, and are escaped.
type Page struct {
	Title    string
	Subtitle string
	Warnings []string // about the files
	Runs     []Run
	Columns  []Entry // what the columns mean
	Marks    []Entry // what the marks mean
	Locks    []Entry // what must be known of single locks
}

// Several reports whether the runs need names.
func (p *Page) Several() bool { return len(p.Runs) > 1 }

// An Entry explains a word.
type Entry struct{ Word, Text string }

// A Fact is a line about a run.
type Fact struct{ Name, Text string }

// A Run is one run: what must be known first, its table, its charts.
type Run struct {
	Name     string
	Alarms   []string // violations and hangs
	Warnings []string
	Doubts   []string // about the host
	Facts    []Fact
	Table    *Table // nil without cells
	Chaos    *Chaos // nil without faults
	Phases   []Phases
	Groups   []Group
	NoCharts string // why there are none
	Method   string
}

// A Table has one row a cell. The marks of a row, which may be long, stand on a
// line of their own below its figures: all figures then fit on a usual screen.
type Table struct {
	Columns   []Column
	Rows      []Row
	Workloads []string // to choose from
	Workers   []int
}

// Several reports whether the name of a lock does not say which row it is.
func (t *Table) Several() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Where() != t.Rows[0].Where() })
}

// A Column of a table. Text is aligned left and sorts as text.
type Column struct {
	Head string
	Text bool
	// HighFirst: the first click puts the largest on top.
	HighFirst bool
	// Where columns say what was measured, and not what came out. On a narrow
	// screen they stand behind the others, and Row.Where below the name.
	Where bool
}

// A Row is one cell of the run. Kind is "control", "failed", "skipped" or "".
type Row struct {
	Lock     string
	Workload string
	Workers  int
	Kind     string
	// First of a section: the rows up to the next one are compared with each
	// other.
	First bool
	Cells []Cell
	Marks []Mark
}

// Where is the row's section in short.
func (r Row) Where() string { return fmt.Sprintf("%s, %dw", r.Workload, r.Workers) }

// A Cell is what stands in a column. A number sorts by Number, which may be
// infinite; without one it is absent, and sorts last.
type Cell struct {
	Text   string
	Number *float64
}

// Sort is the figure for the script: "" is absent.
func (c Cell) Sort() string {
	if c.Number == nil {
		return ""
	}
	// The form that JavaScript reads: "Infinity".
	s := strconv.FormatFloat(*c.Number, 'g', -1, 64)
	if s == "+Inf" {
		return "Infinity"
	}
	return s
}

// A Mark is a doubt, or with Loud an alarm.
type Mark struct {
	Text string
	Loud bool
}

// Long marks are sentences, which may break.
func (m Mark) Long() bool { return len(m.Text) > 30 }

// Phases is the table of a load that changes.
type Phases struct {
	Title string
	Heads []string
	Rows  [][]string
}

// A Group is the charts of one workload.
type Group struct {
	Title  string
	Charts []Chart
}

// A Chart is a drawing. SVG is trusted: package charts made it.
type Chart struct {
	Title    string
	Caption  []string
	Workload string
	Workers  int // 0 = all
	Wide     bool
	SVG      template.HTML
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed chaos.html
var chaosHTML string

//go:embed chaos.css
var chaosCSS string

//go:embed page.js
var pageJS string

// parsed is made when a page is written: the program that links the package is
// also the child process of every repetition.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	return t.Parse(chaosHTML)
})

// Write writes the page. chartCSS is the rules of its charts.
func (p *Page) Write(w io.Writer, chartCSS string) error {
	t, err := parsed()
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	css := pageCSS + chartCSS
	if slices.ContainsFunc(p.Runs, func(r Run) bool { return r.Chaos != nil }) {
		css += chaosCSS
	}
	return t.Execute(w, struct {
		*Page
		CSS    template.CSS
		Script template.JS
		Policy string
	}{p, template.CSS(css), template.JS(pageJS), policy(css, pageJS)})
}

// policy is the page's Content-Security-Policy: nothing from anywhere, and of
// what is inside only this style and this script. A name that became an element
// in spite of all would not run. The icon is data, so that a browser does not
// ask a server for one.
func policy(css, js string) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		hash(css), hash(js))
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
