// Package timeline writes what happened in one round as text that a person can follow: a counterexample.
//
//	redis x holder-pause, careless, round 3
//	A: paused, B: holder inside, C: next inside
//
//	   ms from fault  A B C
//	          -1.204    B    holder  inside
//	           0.000  A |    fault   SIGSTOP
//	             ...  # |            999.300 ms
//	!!      +999.300  # | C  next    inside
//
// Times are those since the fault. A column of letters is a span: from its letter to its letter, with a bar
// between, which is of # for faults; a bar that runs to the last line had not ended. Two bars side by side
// are two inside. "!!" marks what must not happen. "..." stands for a time in which nothing did.
package timeline

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockbench/results"
)

// Who a line is about.
const (
	Holder  = "holder"
	Next    = "next"
	Second  = "second"
	Fault   = "fault"
	Store   = "store"
	Harness = "harness"
)

// Line is one thing that happened.
type Line struct {
	AtNS int64  // of any clock, the same for all lines
	Who  string // one of the above, or another short name
	Text string // may be of a server: control characters are replaced
	Bad  bool
	// Begin and End name a span that begins, or ends, here: a fault, a stay in the section. A name that is used
	// again after its end has the same column. At most MaxSpans are drawn: those of lines about Fault, which
	// come first, and then those that begin first.
	Begin string
	End   string
}

// Sizes of the page.
const (
	MaxSpans = 12
	width    = 120 // columns
	minText  = 40  // columns of text, whatever else there is
	// longPause is the time without a line from which on it is pointed out: far longer than a round trip,
	// shorter than a TTL.
	longPause = 100 * time.Millisecond
)

// page is the state while lines are written.
type page struct {
	w      *bufio.Writer
	origin int64
	spans  []string // in the order of their columns
	faults int      // how many of them, the first, are faults
	open   []bool
	when   int // width of the column of times
	who    int // width of the column of names
}

// Write writes the lines in the order of their times; lines of one time stay in the order given. Time zero is
// the first line about [Fault], or the first of all if there is none.
func Write(w io.Writer, title string, lines []Line) error {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b Line) int {
		switch {
		case a.AtNS < b.AtNS:
			return -1
		case a.AtNS > b.AtNS:
			return 1
		}
		return 0
	})
	p := page{w: bufio.NewWriter(w)}
	p.head(title, lines)
	for i, l := range lines {
		if i > 0 {
			p.pause(l.AtNS - lines[i-1].AtNS)
		}
		p.line(l)
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write the timeline: %w", err)
	}
	return nil
}

// head lays the columns out, and writes what stands above them. The writer keeps its first error until
// it is flushed.
func (p *page) head(title string, lines []Line) {
	from := "start"
	if i := slices.IndexFunc(lines, func(l Line) bool { return l.Who == Fault }); i >= 0 {
		p.origin, from = lines[i].AtNS, "fault"
	} else if len(lines) > 0 {
		p.origin = lines[0].AtNS
	}
	heading := "ms from " + from
	p.when = len(heading)
	for i := range lines {
		l := &lines[i]
		l.Who, l.Begin, l.End = results.Printable(l.Who), results.Printable(l.Begin), results.Printable(l.End)
		p.who = max(p.who, utf8.RuneCountInString(l.Who))
		p.when = max(p.when, len(millis(l.AtNS-p.origin)))
	}
	all := p.columns(lines)
	p.open = make([]bool, len(p.spans))

	for _, row := range wrap(results.Printable(title), width) {
		fmt.Fprintln(p.w, row)
	}
	var legend []string
	for i, name := range p.spans {
		legend = append(legend, fmt.Sprintf("%c: %s", letter(i), name))
	}
	if !all {
		legend = append(legend, "others are not drawn")
	}
	if len(legend) > 0 {
		for _, row := range wrap(strings.Join(legend, ", "), width) {
			fmt.Fprintln(p.w, row)
		}
	}
	fmt.Fprintln(p.w)
	if len(lines) == 0 {
		fmt.Fprintln(p.w, "nothing happened")
		return
	}
	letters := make([]byte, len(p.spans))
	for i := range letters {
		letters[i] = letter(i)
	}
	p.row("", heading, letters, "", []string{""})
}

// columns gives each span its column; all is false if there are more than MaxSpans.
func (p *page) columns(lines []Line) (all bool) {
	all = true
	for _, fault := range []bool{true, false} {
		for _, l := range lines {
			for _, name := range []string{l.End, l.Begin} {
				switch {
				case name == "" || (l.Who == Fault) != fault || slices.Contains(p.spans, name):
				case len(p.spans) < MaxSpans:
					p.spans = append(p.spans, name)
				default:
					all = false
				}
			}
		}
		if fault {
			p.faults = len(p.spans)
		}
	}
	return all
}

func letter(span int) byte { return byte('A' + span) }

// pause points a long one out.
func (p *page) pause(ns int64) {
	if time.Duration(ns) >= longPause {
		p.row("", "...", p.bars(Line{}), "", []string{strings.TrimPrefix(millis(ns), "+") + " ms"})
	}
}

// line writes one, on as many rows as its text needs.
func (p *page) line(l Line) {
	bad := ""
	if l.Bad {
		bad = "!!"
	}
	text := wrap(results.Printable(l.Text), max(minText, width-p.indent()))
	p.row(bad, millis(l.AtNS-p.origin), p.bars(l), l.Who, text[:1])
	for i := range text[1:] {
		p.row("", "", p.bars(Line{}), "", text[1+i:2+i])
	}
}

// bars returns the columns of the spans for a line, and opens and closes what it begins and ends.
func (p *page) bars(l Line) []byte {
	out := make([]byte, len(p.spans))
	for i, name := range p.spans {
		switch {
		case name == l.Begin || name == l.End:
			out[i] = letter(i)
			p.open[i] = name == l.Begin && name != l.End
		case p.open[i] && i < p.faults:
			out[i] = '#'
		case p.open[i]:
			out[i] = '|'
		default:
			out[i] = ' '
		}
	}
	return out
}

// indent is the column at which texts begin: mark, time, bars, who.
func (p *page) indent() int { return 2 + 1 + p.when + 2 + 2*len(p.spans) + 1 + p.who + 2 }

func (p *page) row(bad, when string, bars []byte, who string, text []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-2s %*s  ", bad, p.when, when)
	for _, c := range bars {
		b.WriteByte(c)
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, " %-*s  %s", p.who, who, text[0])
	fmt.Fprintln(p.w, strings.TrimRight(b.String(), " "))
}

// millis writes a time in ms, to the microsecond: "+1.234".
func millis(ns int64) string {
	us := time.Duration(ns).Round(time.Microsecond).Microseconds()
	if us == 0 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", float64(us)/1e3)
}

// wrap breaks text between words, and words that are longer than a row. It returns at least one row.
func wrap(text string, columns int) []string {
	rows := []string{""}
	room := columns
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		last := len(rows) - 1
		if rows[last] != "" && n < room {
			rows[last] += " " + word
			room -= n + 1
			continue
		}
		if rows[last] != "" {
			rows = append(rows, "")
		}
		for r := []rune(word); ; rows = append(rows, "") {
			k := min(len(r), columns)
			rows[len(rows)-1] = string(r[:k])
			if r = r[k:]; len(r) == 0 {
				room = columns - k
				break
			}
		}
	}
	return rows
}
