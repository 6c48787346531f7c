package expect

import (
	"errors"
	"fmt"
	"strings"

	"lockbench/internal/near"
)

// parser reads a formula by recursive descent; rest begins with what comes next, never with a blank.
type parser struct{ rest string }

// value is what a part of a formula comes to: a duration, or else a number.
type value struct {
	node   node // nil: a number
	number float64
}

// skip takes n bytes and the blanks behind them.
func (p *parser) skip(n int) { p.rest = strings.TrimLeft(p.rest[n:], " \t") }

// take takes the byte c if it comes next.
func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.skip(1)
	return true
}

func (p *parser) sum(depth int) (value, error) {
	v, err := p.product(depth)
	for err == nil && p.take('+') {
		var w value
		if w, err = p.product(depth); err != nil {
			break
		}
		switch {
		case v.node == nil && w.node == nil:
			v.number += w.number
		case v.node == nil || w.node == nil:
			err = errors.New("a number is added to a duration: a unit, ms or s, is missing")
		default:
			v.node = added{v.node, w.node}
		}
	}
	return v, err
}

func (p *parser) product(depth int) (value, error) {
	v, err := p.factor(depth)
	for err == nil {
		times := p.take('*')
		if !times && !p.take('/') {
			break
		}
		var w value
		if w, err = p.factor(depth); err != nil {
			break
		}
		switch {
		case !times && w.node != nil:
			err = errors.New("it divides by a duration")
		case !times && w.number == 0:
			err = errors.New("it divides by 0")
		case v.node != nil && w.node != nil:
			err = errors.New("it multiplies two durations")
		case !times && v.node == nil:
			v.number /= w.number
		case !times:
			v.node = scaled{1 / w.number, v.node}
		case v.node == nil && w.node == nil:
			v.number *= w.number
		case v.node == nil:
			v.node = scaled{v.number, w.node}
		default:
			v.node = scaled{w.number, v.node}
		}
	}
	return v, err
}

func (p *parser) factor(depth int) (value, error) {
	if depth > maxDepth {
		return value{}, errors.New("too many parentheses inside each other")
	}
	switch {
	case p.rest == "":
		return value{}, errors.New("it ends too early")
	case p.take('('):
		v, err := p.sum(depth + 1)
		if err == nil && !p.take(')') {
			err = errors.New("a closing parenthesis is missing")
		}
		return v, err
	case isNumber(p.rest[0]):
		return p.quantity()
	case isLetter(p.rest[0]):
		word := p.rest[:span(p.rest, isLetter)]
		p.skip(len(word))
		if word == "max" {
			return p.max(depth)
		}
		for _, v := range vars {
			if v.Name == word {
				return value{node: variable(word)}, nil
			}
		}
		return value{}, unknownName(word)
	}
	return value{}, fmt.Errorf("%q cannot stand there", p.rest)
}

func (p *parser) quantity() (value, error) {
	digits := p.rest[:span(p.rest, isNumber)]
	x, err := parseNumber(digits)
	if err != nil {
		return value{}, err
	}
	ns, rest := unit(p.rest[len(digits):])
	if ns == 0 && rest != "" && isLetter(rest[0]) {
		return value{}, fmt.Errorf("%q is no unit: want ms or s; multiply with *", rest[:span(rest, isLetter)])
	}
	p.rest = rest
	p.skip(0)
	if ns == 0 {
		return value{number: x}, nil
	}
	return value{node: constant(x * ns)}, nil
}

func (p *parser) max(depth int) (value, error) {
	if !p.take('(') {
		return value{}, errors.New("max wants its arguments in parentheses")
	}
	var all largest
	for {
		v, err := p.sum(depth + 1)
		if err != nil {
			return v, err
		}
		if v.node == nil {
			return v, errors.New("max is of durations: a unit, ms or s, is missing")
		}
		all = append(all, v.node)
		switch {
		case p.take(','):
		case p.take(')'):
			return value{node: all}, nil
		default:
			return v, errors.New("a closing parenthesis is missing")
		}
	}
}

// nameError is a name that no formula may have.
type nameError struct{ name string }

func unknownName(name string) error { return &nameError{name} }

func (e *nameError) Error() string { return fmt.Sprintf("nothing is named %q", e.name) }

// Hint lists the names.
func (e *nameError) Hint() string {
	var names []string
	for _, v := range vars {
		names = append(names, v.Name)
	}
	hint := "names: " + strings.Join(names, ", ")
	if n := near.Names(e.name, names); len(n) > 0 {
		hint = "did you mean " + n[0] + "? " + hint
	}
	return hint
}
