package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
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
	bar   *progressbar.ProgressBar // nil: none
}

// newProgress returns the display of the given mode; auto is a bar on a
// terminal and nothing elsewhere.
func newProgress(mode string, w io.Writer) *progress {
	p := &progress{w: w, plain: mode == "plain"}
	if f, ok := w.(*os.File); mode == "auto" && ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionFullWidth(),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// Begin implements engine.Progress.
func (p *progress) Begin(s engine.Step, done, total int) {
	if p.bar != nil {
		p.bar.ChangeMax(total)
		p.bar.Describe(s.Cell.Name)
		_ = p.bar.Set(done) // a terminal that is gone
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

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
