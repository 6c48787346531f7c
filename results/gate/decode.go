package gate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockbench/internal/yamldoc"
	"lockbench/results"
)

// MaxRulesFile bounds a file of rules, in bytes.
const MaxRulesFile = 1 << 20

// The range of thresholds. Whoever allows more has mistaken a unit; times above
// an hour are clamped when they are measured. Less than a hundredth of a
// percent is nothing: it would take millions of pairs.
const (
	minRegressionPct = 0.01
	maxRegressionPct = 1000
	maxLimit         = 1e12
	maxLimitNS       = 3600e9
)

const hintRules = `a file of rules is YAML: "rules:", then a list of maps with metric, and max-regression or limit`

var (
	fileKeys = []string{"alpha", "rules", "chaos"}
	ruleKeys = []string{"name", "lock", "workload", "workers", "metric", "max-regression", "limit"}
)

// ParseRules decodes the rules in b; file stands for it in messages. An error
// is an *Error with line and column. Nothing unknown, double, or contradictory is
// accepted, and no threshold that would pass anything.
//
//	alpha: 0.01                # of the whole gate, all rules and looks together
//	rules:
//	  - name: moderate load    # optional
//	    lock: mcs*, ticket     # patterns, default all; controls by name only
//	    workload: moderate
//	    workers: 4             # a number, or a pattern
//	    metric: throughput_ops_s
//	    max-regression: 5%     # in the bad direction, which the metric knows
//	  - lock: mutex
//	    metric: acquire_p99_ns
//	    limit: 50us            # of the new side, in the metric's unit
//
// Or, in a file of its own, demands on the verdicts of faults:
//
//	chaos:
//	  - fault: holder-kill     # patterns, default all
//	    lock: etcd
//	    policy: careful
//	    verdict: safe          # or a list of those that pass
//	    recovery_max: 1.3 x TTL
//	    min_rounds: 10
//
// faults are the names of all faults: a demand about another one is an error. Without them any name will do.
func ParseRules(file string, b []byte, faults ...string) (*Rules, error) {
	rs, err := parseRules(b, faults)
	if err == nil {
		rs.File = file
		return rs, nil
	}
	e := &Error{File: file, Err: err, Tip: hintRules}
	var at *yamldoc.Error
	if errors.As(err, &at) {
		e.Line, e.Column, e.Err, e.Tip = at.Line, at.Column, at.Err, at.Tip
	}
	if e.Tip == "" {
		e.Tip = hintRules
	}
	return nil, e
}

func parseRules(b []byte, faults []string) (*Rules, error) {
	if len(b) > MaxRulesFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxRulesFile)
	}
	n, body, err := yamldoc.Parse(b, hintRules, "one file is one gate: put the rules into one document")
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errors.New("the file has no rules")
	}
	rs := &Rules{Alpha: DefaultAlpha}
	var alpha ast.Node
	err = n.Mapping(body, "the file", "rules: [...]", fileKeys, func(key string, v ast.Node) error {
		switch key {
		case "alpha":
			alpha = v
			return rs.setAlpha(n, v)
		case "chaos":
			return rs.setChaos(n, v, faults)
		}
		return rs.setList(n, v)
	})
	switch {
	case err != nil:
		return nil, err
	case len(rs.Chaos) > 0 && len(rs.List) > 0:
		return nil, yamldoc.At(body, errors.New("the file has both rules and chaos"), "they are about different files: make two gates of them")
	case len(rs.Chaos) > 0 && alpha != nil:
		return nil, yamldoc.At(alpha, errors.New("alpha goes with rules, not with chaos"), "a verdict says itself what its rounds are worth; demand more of them with min_rounds")
	case len(rs.Chaos) > 0:
		return rs, nil
	}
	if len(rs.List) == 0 {
		return nil, yamldoc.At(body, errors.New("the file has no rules"), hintRules)
	}
	return rs, nil
}

func (rs *Rules) setAlpha(n yamldoc.Nodes, v ast.Node) error {
	text, err := n.Scalar(v)
	if err != nil {
		return err
	}
	rs.Alpha, err = strconv.ParseFloat(text, 64)
	if err != nil || !(rs.Alpha > 0 && rs.Alpha < 0.5) {
		return yamldoc.At(v, fmt.Errorf("alpha: %q: want a probability above 0 and below 0.5", text),
			"alpha is the probability of a false verdict of the whole gate, such as 0.01")
	}
	return nil
}

func (rs *Rules) setList(n yamldoc.Nodes, v ast.Node) error {
	if n.IsMapping(v) {
		return yamldoc.At(v, errors.New("rules: want a list"), `begin each rule with "- "`)
	}
	items, err := n.List(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		r, err := decodeRule(n, item)
		if err != nil {
			return err
		}
		for _, o := range rs.List {
			if o.Name == r.Name {
				return yamldoc.At(item, fmt.Errorf("a second rule named %q", r.Name),
					fmt.Sprintf("the first is in line %d; give each rule a name of its own", o.Line))
			}
		}
		rs.List = append(rs.List, *r)
	}
	if len(items) == 0 {
		return yamldoc.At(v, errors.New("rules: an empty list"), "a gate without rules would pass anything")
	}
	return nil
}

func decodeRule(n yamldoc.Nodes, item ast.Node) (*Rule, error) {
	r := &Rule{}
	r.Line, r.Column = yamldoc.Place(item)
	values := map[string]ast.Node{}
	err := n.Mapping(item, "a rule", "metric: throughput_ops_s", ruleKeys, func(key string, v ast.Node) error { values[key] = v; return nil })
	if err != nil {
		return nil, err
	}
	for key, p := range map[string]*[]string{"lock": &r.Lock, "workload": &r.Workload, "workers": &r.Workers} {
		if values[key] == nil {
			continue
		}
		if *p, err = patterns(n, key, values[key]); err != nil {
			return nil, err
		}
	}
	if values["metric"] == nil {
		return nil, yamldoc.At(item, errors.New("a rule without a metric"), "see: lockbench list metrics")
	}
	text, err := n.Scalar(values["metric"])
	if err != nil {
		return nil, err
	}
	if r.Metric, err = results.LookupMetric(text); err != nil {
		return nil, yamldoc.At(values["metric"], err, "")
	}
	if r.Metric.Better == results.Neither {
		return nil, yamldoc.At(values["metric"], fmt.Errorf("metric %s describes a cell; neither way is better", r.Metric.Name),
			"a rule needs a metric with a direction, see: lockbench list metrics")
	}
	change, limit := values["max-regression"], values["limit"]
	switch {
	case change == nil && limit == nil:
		return nil, yamldoc.At(item, errors.New("a rule without max-regression or limit"), "for instance max-regression: 5%")
	case change != nil && limit != nil:
		return nil, yamldoc.At(limit, errors.New("a rule with both max-regression and limit"), "make two rules of it")
	case change != nil:
		err = r.setMaxRegression(n, change)
	default:
		err = r.setLimit(n, limit)
	}
	if err != nil {
		return nil, err
	}
	if v := values["name"]; v != nil {
		if text, err = n.Scalar(v); err != nil {
			return nil, err
		}
		if r.Name = strings.TrimSpace(results.Printable(text)); r.Name == "" {
			return nil, yamldoc.At(v, errors.New("name: it is empty"), "leave the key out for a name that says what the rule is about")
		}
		return r, nil
	}
	r.Name = results.Printable(r.describe())
	return r, nil
}

// describe names a rule that has no name.
func (r *Rule) describe() string {
	all := func(p []string) string {
		if len(p) == 0 {
			return "*"
		}
		return strings.Join(p, ",")
	}
	parts := []string{all(r.Lock)}
	if len(r.Workload) > 0 {
		parts = append(parts, "workload="+all(r.Workload))
	}
	if len(r.Workers) > 0 {
		parts = append(parts, "workers="+all(r.Workers))
	}
	return strings.Join(parts, "/") + ": " + r.Metric.Name + " " + r.Threshold()
}

// patterns are those of a scalar with commas, or of a list.
func patterns(n yamldoc.Nodes, key string, v ast.Node) ([]string, error) {
	items, err := n.List(v)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		text, err := n.Scalar(item)
		if err != nil {
			return nil, err
		}
		for p := range strings.SplitSeq(text, ",") {
			p = strings.TrimSpace(p)
			if p == "" {
				return nil, yamldoc.At(item, fmt.Errorf("%s: an empty name", key), "leave the key out for all")
			}
			if _, err := path.Match(p, ""); err != nil {
				return nil, yamldoc.At(item, fmt.Errorf("%s: bad pattern %q", key, p), "patterns have *, ? and [...]")
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	if len(out) == 0 {
		return nil, yamldoc.At(v, fmt.Errorf("%s: an empty list", key), "leave the key out for all")
	}
	return out, nil
}

// setMaxRegression reads "5%".
func (r *Rule) setMaxRegression(n yamldoc.Nodes, v ast.Node) error {
	text, err := n.Scalar(v)
	if err != nil {
		return err
	}
	fail := func(want, hint string) error {
		return yamldoc.At(v, fmt.Errorf("max-regression: %q: want %s", text, want), hint)
	}
	number, unit := split(text)
	pct, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || unit != "%":
		return fail("a percentage, such as 5%", "the change in the bad direction that is allowed, above 0")
	case !(pct >= minRegressionPct):
		return fail(fmt.Sprintf("at least %g %%", minRegressionPct), "no interval is narrow enough to prove a change of nothing; allow what does not matter")
	case !(pct <= maxRegressionPct):
		return fail(fmt.Sprintf("at most %d %%", maxRegressionPct), "a limit may say better what you mean")
	case r.Metric.Better == results.Higher && pct >= 100:
		return fail("less than 100 %", fmt.Sprintf("%s is better when it is higher; it cannot lose more than all", r.Metric.Name))
	}
	r.MaxRegression = pct / 100
	return nil
}

// split parts a number from its unit.
func split(text string) (number, unit string) {
	text = strings.TrimSpace(text)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	return text[:end], strings.TrimSpace(text[end:])
}

// units are the suffixes of a limit and what they multiply by, by the metric's
// unit.
var units = map[string]struct {
	factors map[string]float64
	most    float64
	example string
}{
	"ns":    {map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}, maxLimitNS, "a time with a unit, such as 5us"},
	"ops/s": {map[string]float64{"/s": 1, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9, "ops/s": 1, "k ops/s": 1e3, "M ops/s": 1e6, "G ops/s": 1e9}, maxLimit, "a rate, such as 2.5M/s"},
	"%":     {map[string]float64{"%": 1}, 100, "a percentage, such as 1%"},
	"":      {map[string]float64{"": 1}, maxLimit, "a number without a unit, such as 0.9"},
}

// setLimit reads a number with the metric's unit.
func (r *Rule) setLimit(n yamldoc.Nodes, v ast.Node) error {
	text, err := n.Scalar(v)
	if err != nil {
		return err
	}
	u := units[r.Metric.Unit]
	number, unit := split(text)
	x, err := strconv.ParseFloat(number, 64)
	factor, known := u.factors[unit]
	x *= factor
	switch {
	case err != nil || !known:
		return yamldoc.At(v, fmt.Errorf("limit: %q: want %s", text, u.example), "it is in the unit of "+r.Metric.Name)
	case !(x > 0):
		return yamldoc.At(v, fmt.Errorf("limit: %q: want more than 0", text), "for instance "+u.example[strings.LastIndex(u.example, " ")+1:])
	case !(x <= u.most):
		return yamldoc.At(v, fmt.Errorf("limit: %q: want at most %s", text, r.quantity(u.most)), "is the unit right?")
	}
	r.Limit = x
	return nil
}
