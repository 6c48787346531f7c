package linear

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdicts.
const (
	Yes = "yes" // linearizable
	No  = "no"
	// Unknown: the check was given up, or there was nothing to judge. It is no finding, and overrides none.
	Unknown = "unknown"
)

// Limit is the longest that a check may take, and the default.
const Limit = 10 * time.Second

// maxSteps bounds the memory of a check: each step that the model allows leaves some 200 bytes behind. A round
// of a correct lock takes some steps an operation.
const maxSteps = 1 << 20

// never is the return of what did not return.
const never = math.MaxInt64

// Result is what came of a check.
type Result struct {
	Verdict string // Yes, No or Unknown
	// Why is in words what has no place in any order, or why there is no verdict; "" for Yes.
	Why string

	html func(io.Writer) error
}

// HTML writes Porcupine's picture of the history and of the order that was found, or of the longest
// ones, as a page that needs no other file. Its times are ns from the first call.
func (r Result) HTML(w io.Writer) error {
	if r.html == nil {
		return fmt.Errorf("draw the history: %w", errNoPicture)
	}
	if err := r.html(w); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}

// errNoPicture is returned for histories that were not judged.
var errNoPicture = errors.New("it was not judged")

// problem is a history in a model's terms.
type problem struct {
	model porcupine.Model // its states are comparable
	ops   []porcupine.Operation
	notes []porcupine.Annotation // what is shown and not judged
}

func undecided(format string, args ...any) Result {
	return Result{Verdict: Unknown, Why: fmt.Sprintf(format, args...)}
}

// check runs the checker.
func (p problem) check(limit time.Duration) Result {
	if len(p.ops) == 0 {
		return undecided("no operation to judge")
	}
	if limit <= 0 || limit > Limit {
		limit = Limit
	}
	// The checker calls Step from one goroutine, and has ended when CheckOperationsVerbose returns.
	steps, counted := 0, p.model
	counted.Step = func(state, input, output any) (bool, any) {
		if steps++; steps > maxSteps {
			return false, state
		}
		return p.model.Step(state, input, output)
	}
	found, info := porcupine.CheckOperationsVerbose(counted, p.ops, limit)
	info.AddAnnotations(p.notes)
	r := Result{html: func(w io.Writer) error { return porcupine.Visualize(p.model, info, w) }}
	switch {
	case found == porcupine.Ok:
		r.Verdict = Yes
	case found == porcupine.Unknown:
		r.Verdict, r.Why = Unknown, fmt.Sprintf("given up after %v", limit)
	case steps > maxSteps:
		r.Verdict, r.Why = Unknown, fmt.Sprintf("given up after %d steps", maxSteps)
	default:
		r.Verdict, r.Why = No, p.why(info)
	}
	return r
}

// why says which operation the longest order could not take: of those that are not in it, the one that
// returned first. Of several longest orders the first by number is taken, so that it says the same each time.
func (p problem) why(info porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) || len(order) == len(longest) && slices.Compare(order, longest) < 0 {
			longest = order
		}
	}
	state := p.model.Init()
	placed := make([]bool, len(p.ops))
	for _, i := range longest {
		_, state = p.model.Step(state, p.ops[i].Input, p.ops[i].Output)
		placed[i] = true
	}
	stuck := -1
	for i, op := range p.ops {
		if !placed[i] && (stuck < 0 || op.Return < p.ops[stuck].Return) {
			stuck = i
		}
	}
	op := p.ops[stuck]
	return fmt.Sprintf("%s, %s, has no place: %s", p.model.DescribeOperation(op.Input, op.Output), op.Metadata, p.model.DescribeState(state))
}

// span writes an interval of a history that began at origin.
func span(call, ret, origin int64) string {
	if ret == never {
		return ms(call, origin) + " and never returned"
	}
	return ms(call, origin) + " to " + ms(ret, origin)
}

// ms writes a stamp: "+1.234 ms" after origin.
func ms(at, origin int64) string { return fmt.Sprintf("%+.3f ms", float64(at-origin)/1e6) }

// extent returns the first stamp of a history and one that comes after all that it has.
func extent(stamps []int64) (origin, end int64) {
	return slices.Min(stamps), slices.Max(stamps) + 1
}
