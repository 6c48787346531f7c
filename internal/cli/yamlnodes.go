package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// yamlNodes reads the nodes of a document. Aliases stand for their anchors.
type yamlNodes struct{ anchors map[string]ast.Node }

// Visit implements ast.Visitor: it notes the anchors.
func (n *yamlNodes) Visit(node ast.Node) ast.Visitor {
	if a, ok := node.(*ast.AnchorNode); ok && a.Name != nil {
		n.anchors[a.Name.GetToken().Value] = a.Value
	}
	return n
}

// maxAliases bounds aliases of aliases.
const maxAliases = 16

// resolve takes anchors, tags and aliases off a node.
func (n yamlNodes) resolve(node ast.Node) (ast.Node, error) {
	for range maxAliases {
		switch v := node.(type) {
		case *ast.AnchorNode:
			node = v.Value
		case *ast.TagNode:
			node = v.Value
		case *ast.AliasNode:
			target, ok := n.anchors[v.Value.GetToken().Value]
			if !ok {
				return nil, at(v, fmt.Errorf("no anchor is named %q", v.Value.GetToken().Value), "")
			}
			node = target
		default:
			return node, nil
		}
	}
	return nil, at(node, errors.New("an alias of itself"), "")
}

// scalar is the text of a value, as it would be typed on the command line.
func (n yamlNodes) scalar(node ast.Node) (string, error) {
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
	return "", at(node, errors.New("want one value, not a list, a map or nothing"), "")
}

// list is the items of a sequence; a scalar is a list of one.
func (n yamlNodes) list(node ast.Node) ([]ast.Node, error) {
	v, err := n.resolve(node)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *ast.SequenceNode:
		return v.Values, nil
	case *ast.MappingNode, *ast.MappingValueNode, *ast.NullNode, nil:
		return nil, at(node, errors.New("want a list"), "for instance [a, b]")
	}
	return []ast.Node{node}, nil
}

func (n yamlNodes) isMapping(node ast.Node) bool {
	v, err := n.resolve(node)
	if err != nil {
		return false
	}
	_, ok := v.(ast.MapNode)
	return ok
}

// mapping calls fn for each key of a map; keys are those that it may have, nil
// = any. What the map is, is for the error.
func (n yamlNodes) mapping(node ast.Node, what string, keys []string, fn func(key string, v ast.Node) error) error {
	v, err := n.resolve(node)
	if err != nil {
		return err
	}
	m, ok := v.(ast.MapNode)
	if !ok {
		return at(node, fmt.Errorf("%s: want a map of keys and values", what), "for instance reps: 3")
	}
	seen := map[string]bool{}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		switch {
		case seen[key]:
			return at(it.Key(), fmt.Errorf("key %q stands here twice", key), "delete one of them")
		case keys != nil && !slices.Contains(keys, key):
			return at(it.Key(), fmt.Errorf("unknown key %q", key), keyHint(key, keys))
		}
		seen[key] = true
		if err := fn(key, it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// yamlKeys are the YAML keys of a struct, in order.
func yamlKeys(v any) []string {
	var out []string
	for f := range reflect.TypeOf(v).Fields() {
		if key := f.Tag.Get("yaml"); key != "" {
			out = append(out, key)
		}
	}
	return out
}
