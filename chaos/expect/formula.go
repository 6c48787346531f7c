package expect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Var is a name that formulas may have.
type Var struct{ Name, Doc string }

// vars are in the order in which the document lists them.
var vars = []Var{
	{"T", "the time to live of the lease, as granted"},
	{"tick", "how much later than T the service may notice that it is over"},
	{"poll", "the longest pause between two attempts of a lock that polls, where the harness sets it"},
	{"pause", "from the fault until the stopped process, or server, has continued and the holder has released"},
	{"heal", "from the fault until it has ended, the network whole or the servers started, and the holder has released"},
	{"restart", "what a server that is started takes to serve"},
	{"election", "the longest time without a leader after the old one is gone"},
	{"detection", "the time after which the others have replaced a primary that does not answer"},
	{"jump", "how far the server's clock is shifted"},
	{"exec", "what a command that is to run in a container takes to run there"},
}

// Vars returns the names that formulas may have.
func Vars() []Var { return slices.Clone(vars) }

// Formula is a bound of a duration.
type Formula struct {
	text  string
	sum   node
	never bool
}

// never is the formula of what does not happen by itself.
const never = "never"

// Limits of a formula: nobody needs more, and a parser that calls itself needs some.
const (
	maxFormula = 200
	maxDepth   = 20
)

// ParseFormula reads a formula:
//
//	formula = "never" | sum
//	sum     = product { "+" product }
//	product = factor { ("*" | "/") factor }
//	factor  = number | duration | name | "max" "(" sum { "," sum } ")" | "(" sum ")"
//
// A duration is a number with its unit, ms or s, behind it. A sum adds durations, a product has at most
// one of them, and divides by numbers only.
func ParseFormula(text string) (*Formula, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxFormula {
		return nil, fmt.Errorf("formula: longer than %d bytes", maxFormula)
	}
	f := &Formula{text: text, never: text == never}
	if f.never {
		return f, nil
	}
	p := &parser{rest: text}
	v, err := p.sum(0)
	if err == nil && p.rest != "" {
		err = fmt.Errorf("%q cannot follow", p.rest)
	}
	if err == nil && v.node == nil {
		err = errors.New("it is a number, not a duration: a unit, ms or s, is missing")
	}
	if err == nil && v.node.finite(1) != nil {
		err = v.node.finite(1)
	}
	if err != nil {
		return nil, fmt.Errorf("formula %q: %w", text, err)
	}
	f.sum = v.node
	return f, nil
}

// String returns the formula as it was written.
func (f *Formula) String() string { return f.text }

// Never reports whether the formula says that it does not happen.
func (f *Formula) Never() bool { return f.never }

// MS evaluates the formula, in milliseconds: +Inf for "never". An error names a value that is missing.
func (f *Formula) MS(values map[string]time.Duration) (float64, error) {
	if f.never {
		return math.Inf(1), nil
	}
	v, err := f.sum.eval(values)
	if err != nil {
		return 0, fmt.Errorf("bound %q: %w", f.text, err)
	}
	return v / float64(time.Millisecond), nil
}

// Names returns the names in the formula, sorted, each once.
func (f *Formula) Names() []string {
	if f.never {
		return nil
	}
	names := f.sum.names(nil)
	slices.Sort(names)
	return slices.Compact(names)
}

// node is a duration, evaluated in ns.
type node interface {
	eval(values map[string]time.Duration) (float64, error)
	names(to []string) []string
	// finite fails if constants alone are too large to be added up; by is what the node is multiplied with.
	finite(by float64) error
}

type (
	constant float64
	variable string
	scaled   struct {
		by float64
		of node
	}
	added   []node
	largest []node
)

func (c constant) eval(map[string]time.Duration) (float64, error) { return float64(c), nil }

func (v variable) eval(values map[string]time.Duration) (float64, error) {
	d, ok := values[string(v)]
	if !ok {
		return 0, fmt.Errorf("the value of %s is not known", string(v))
	}
	return float64(d), nil
}

func (s scaled) eval(values map[string]time.Duration) (float64, error) {
	v, err := s.of.eval(values)
	return s.by * v, err
}

func (a added) eval(values map[string]time.Duration) (sum float64, err error) {
	for _, n := range a {
		v, err := n.eval(values)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

func (l largest) eval(values map[string]time.Duration) (float64, error) {
	most := math.Inf(-1)
	for _, n := range l {
		v, err := n.eval(values)
		if err != nil {
			return 0, err
		}
		most = max(most, v)
	}
	return most, nil
}

func (constant) names(to []string) []string   { return to }
func (v variable) names(to []string) []string { return append(to, string(v)) }
func (s scaled) names(to []string) []string   { return s.of.names(to) }
func (a added) names(to []string) []string    { return namesOf(a, to) }
func (l largest) names(to []string) []string  { return namesOf(l, to) }

func namesOf(nodes []node, to []string) []string {
	for _, n := range nodes {
		to = n.names(to)
	}
	return to
}

// maxConst bounds what durations are multiplied with, and durations themselves, in ns: a year.
const maxConst = 365 * 24 * float64(time.Hour)

var errLarge = errors.New("a number in it is too large")

func (c constant) finite(by float64) error {
	if !(float64(c)*by <= maxConst) {
		return errLarge
	}
	return nil
}

func (variable) finite(by float64) error {
	if !(by <= maxConst) {
		return errLarge
	}
	return nil
}

func (s scaled) finite(by float64) error  { return s.of.finite(by * s.by) }
func (a added) finite(by float64) error   { return finiteAll(a, by) }
func (l largest) finite(by float64) error { return finiteAll(l, by) }

func finiteAll(nodes []node, by float64) error {
	for _, n := range nodes {
		if err := n.finite(by); err != nil {
			return err
		}
	}
	return nil
}

// unit returns the ns of a unit at the beginning of s, and what follows; 0: there is none.
func unit(s string) (ns float64, rest string) {
	word := s[:span(s, isLetter)]
	switch word {
	case "ms":
		return float64(time.Millisecond), s[len(word):]
	case "s":
		return float64(time.Second), s[len(word):]
	}
	return 0, s
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isNumber(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

// span is how many bytes at the beginning of s are such.
func span(s string, such func(byte) bool) int {
	for i := range len(s) {
		if !such(s[i]) {
			return i
		}
	}
	return len(s)
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return v, nil
}
