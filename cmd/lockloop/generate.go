package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"text/template"
)

//go:embed loops.tmpl
var loopsText string

var loops = template.Must(template.New("loops").Parse(loopsText))

// generate returns the formatted source of the loops.
func generate(pkg, build string, types []handle) ([]byte, error) {
	var b bytes.Buffer
	err := loops.Execute(&b, map[string]any{"Package": pkg, "Build": build, "Types": types})
	if err != nil {
		return nil, fmt.Errorf("generate loops: %w", err)
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format generated loops: %w", err)
	}
	return src, nil
}
