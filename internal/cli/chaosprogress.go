package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"lockbench/results"
)

// chaosProgress shows on stderr how chaos gets on: a line that is written again on a terminal, a line a verdict
// in plain mode.
type chaosProgress struct {
	mu    sync.Mutex
	w     io.Writer
	plain bool
	live  bool
	last  string
}

func newChaosProgress(mode string, w io.Writer) *chaosProgress {
	f, ok := w.(*os.File)
	return &chaosProgress{w: w, plain: mode == "plain", live: mode == "auto" && ok && term.IsTerminal(int(f.Fd()))}
}

// line prints a line that stays.
func (p *chaosProgress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintln(p.w, text)
	p.redraw()
}

func (p *chaosProgress) progress(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	p.last = fmt.Sprintf("%d/%d rounds", done, total)
	p.redraw()
}

func (p *chaosProgress) verdict(v *results.ChaosVerdict) {
	if !p.plain {
		return
	}
	text := fmt.Sprintf("%s %s %s %s: %s", v.Fault, v.Lock, v.Topology, v.Policy, v.Verdict)
	if v.Expected != "" && !v.Agrees {
		text += ", expected " + v.Expected
	}
	if v.Reason != "" {
		text += " (" + v.Reason + ")"
	}
	p.line(results.Printable(strings.ReplaceAll(text, "\n", "; ")))
}

func (p *chaosProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	p.last = ""
}

func (p *chaosProgress) wipe() {
	if p.live && p.last != "" {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", len(p.last)))
	}
}

func (p *chaosProgress) redraw() {
	if p.live && p.last != "" {
		fmt.Fprint(p.w, p.last)
	}
}
