// Package yamldoc reads strict YAML files: every error has its line and column
// and a hint, unknown keys name the near ones, and values keep the text that
// the user wrote, so that they are parsed like the same text on a command line.
package yamldoc

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lockbench/internal/near"
)

// An Error is an error at a place of the file, printed "LINE:COLUMN: what".
type Error struct {
	Line, Column int // 1-based
	Err          error
	Tip          string // what the user can do, "" if nothing is known
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the user can do.
func (e *Error) Hint() string { return e.Tip }

// At places an error at a node. An error that has a place keeps it, and one
// with a hint of its own keeps that.
func At(n ast.Node, err error, hint string) error {
	var placed *Error
	if errors.As(err, &placed) {
		return err
	}
	e := &Error{Line: 1, Column: 1, Err: err, Tip: hint}
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		e.Tip = h.Hint()
	}
	e.Line, e.Column = Place(n)
	return e
}

// Place is where a node begins, 1:1 if it does not know.
func Place(n ast.Node) (line, column int) {
	switch m := n.(type) { // the token of a block map is the colon of its first key
	case *ast.MappingValueNode:
		n = m.Key
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		return n.GetToken().Position.Line, n.GetToken().Position.Column
	}
	return 1, 1
}

// Parse returns the body of the only document in b; nil if there is nothing in
// it. hint is for errors of syntax, second for a second document.
func Parse(b []byte, hint, second string) (Nodes, ast.Node, error) {
	n := Nodes{anchors: map[string]ast.Node{}}
	file, err := parser.ParseBytes(b, 0)
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		p := y.GetToken().Position
		return n, nil, &Error{Line: p.Line, Column: p.Column, Err: errors.New(y.GetMessage()), Tip: hint}
	}
	if err != nil {
		return n, nil, err
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.NullType {
			continue
		}
		if body != nil {
			return n, nil, At(d.Body, errors.New("a second document"), second)
		}
		body = d.Body
	}
	if body != nil {
		ast.Walk(&n, body)
	}
	return n, body, nil
}

// Nodes reads the nodes of a document. Aliases stand for their anchors.
type Nodes struct{ anchors map[string]ast.Node }

// Visit implements ast.Visitor: it notes the anchors.
func (n *Nodes) Visit(node ast.Node) ast.Visitor {
	if a, ok := node.(*ast.AnchorNode); ok && a.Name != nil {
		n.anchors[a.Name.GetToken().Value] = a.Value
	}
	return n
}

// maxAliases bounds aliases of aliases.
const maxAliases = 16

// resolve takes anchors, tags and aliases off a node.
func (n Nodes) resolve(node ast.Node) (ast.Node, error) {
	for range maxAliases {
		switch v := node.(type) {
		case *ast.AnchorNode:
			node = v.Value
		case *ast.TagNode:
			node = v.Value
		case *ast.AliasNode:
			target, ok := n.anchors[v.Value.GetToken().Value]
			if !ok {
				return nil, At(v, fmt.Errorf("no anchor is named %q", v.Value.GetToken().Value), "")
			}
			node = target
		default:
			return node, nil
		}
	}
	return nil, At(node, errors.New("an alias of itself"), "")
}

// Scalar is the text of a value, as it would be typed on the command line.
func (n Nodes) Scalar(node ast.Node) (string, error) {
	v, err := n.resolve(node)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.LiteralNode:
		return v.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, nil
	}
	return "", At(node, errors.New("want one value, not a list, a map or nothing"), "")
}

// List is the items of a sequence; a scalar is a list of one.
func (n Nodes) List(node ast.Node) ([]ast.Node, error) {
	v, err := n.resolve(node)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *ast.SequenceNode:
		return v.Values, nil
	case *ast.MappingNode, *ast.MappingValueNode, *ast.NullNode, nil:
		return nil, At(node, errors.New("want a list"), "for instance [a, b]")
	}
	return []ast.Node{node}, nil
}

// IsMapping reports whether the node is a map.
func (n Nodes) IsMapping(node ast.Node) bool {
	v, err := n.resolve(node)
	if err != nil {
		return false
	}
	_, ok := v.(ast.MapNode)
	return ok
}

// Mapping calls fn for each key of a map; keys are those that it may have, nil
// = any. What the map is, and an example of a key and its value, are for the
// error.
func (n Nodes) Mapping(node ast.Node, what, example string, keys []string, fn func(key string, v ast.Node) error) error {
	v, err := n.resolve(node)
	if err != nil {
		return err
	}
	m, ok := v.(ast.MapNode)
	if !ok {
		return At(node, fmt.Errorf("%s: want a map of keys and values", what), "for instance "+example)
	}
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		switch {
		case seen[key]:
			return At(it.Key(), fmt.Errorf("key %q stands here twice", key), "delete one of them")
		case keys != nil && !slices.Contains(keys, key):
			return At(it.Key(), fmt.Errorf("unknown key %q", key), keyHint(key, keys))
		}
		seen[key] = true
		if err := fn(key, it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// keyHint names the keys that an unknown one may have meant.
func keyHint(key string, keys []string) string {
	hint := "keys: " + strings.Join(keys, ", ")
	if n := near.Names(key, keys); len(n) > 0 {
		hint = "did you mean " + n[0] + "? " + hint
	}
	return hint
}

// Keys are the YAML keys of a struct, in order.
func Keys(v any) []string {
	var out []string
	for f := range reflect.TypeOf(v).Fields() {
		if key := f.Tag.Get("yaml"); key != "" && key != "-" {
			out = append(out, key)
		}
	}
	return out
}
