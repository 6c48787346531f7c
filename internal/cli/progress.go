package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"lockbench/internal/engine"
	"lockbench/results"
)

var progressModes = []string{"auto", "plain", "none"}

func checkProgress(mode string) error {
	if slices.Contains(progressModes, mode) {
		return nil
	}
	return usageErr(fmt.Errorf("--progress: %q: want auto, plain or none", mode), "auto is a bar on a terminal, plain a line a repetition")
}

// progress shows on stderr how a run gets on.
type progress struct {
	w     io.Writer
	plain bool

	// The bar, if there is one. It draws when it is told to, before a
	// repetition begins, and never by itself: a timer beside the measurement
	// would take a processor from it.
	bars *mpb.Progress
	bar  *mpb.Bar
	draw chan any
	name atomic.Value // string: the cell that is running
}

// newProgress returns the display of the given mode; auto is a bar on a
// terminal and nothing elsewhere.
func newProgress(mode string, w io.Writer) *progress {
	p := &progress{w: w, plain: mode == "plain"}
	if f, ok := w.(*os.File); mode == "auto" && ok && term.IsTerminal(int(f.Fd())) {
		p.draw = make(chan any)
		p.name.Store("")
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithManualRefresh(p.draw), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(0, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO), decor.Any(func(decor.Statistics) string {
				return " " + p.name.Load().(string)
			})))
	}
	return p
}

// Begin implements engine.Progress.
func (p *progress) Begin(s engine.Step, done, total int) {
	if p.bar != nil {
		p.name.Store(s.Cell.Name)
		p.bar.SetTotal(int64(total), false)
		p.bar.SetCurrent(int64(done))
		p.draw <- time.Now()
	}
	if p.plain {
		fmt.Fprintf(p.w, "[%d/%d] %s rep %d: ", done+1, total, s.Cell.Name, s.Rep+1)
	}
}

// End implements engine.Progress.
func (p *progress) End(_ engine.Step, s *results.Sample) {
	if !p.plain {
		return
	}
	text := s.Outcome
	if s.Outcome == results.OutcomeOK {
		text = fmt.Sprintf("%.4g ops/s", s.ThroughputOps)
	} else if s.Reason != "" {
		text += ": " + results.Printable(strings.TrimPrefix(s.Reason, s.Outcome+": "))
	}
	fmt.Fprintln(p.w, text)
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
