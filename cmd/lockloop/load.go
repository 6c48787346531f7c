package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// pkgInfo is what the generator needs to know of a package. It is read from
// the syntax alone: the package need not compile, since the loops that it may
// refer to do not exist yet.
type pkgInfo struct {
	name    string
	methods map[string]map[string]bool // type -> methods with a pointer receiver
}

// handle is a type for which loops are generated.
type handle struct {
	Type  string
	Try   bool // has TryLock
	Timed bool // has LockFor
	Read  bool // has RLock and RUnlock
}

func load(dir string) (*pkgInfo, error) {
	p := &pkgInfo{methods: map[string]map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	fset := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
		p.name = f.Name.Name
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				p.add(fn)
			}
		}
	}
	if p.name == "" {
		return nil, fmt.Errorf("no Go files in %s: %w", dir, fs.ErrNotExist)
	}
	return p, nil
}

func (p *pkgInfo) add(fn *ast.FuncDecl) {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return
	}
	star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return
	}
	id, ok := star.X.(*ast.Ident)
	if !ok {
		return
	}
	if p.methods[id.Name] == nil {
		p.methods[id.Name] = map[string]bool{}
	}
	p.methods[id.Name][fn.Name.Name] = true
}

func (p *pkgInfo) handle(name string) (handle, error) {
	m := p.methods[name]
	if !m["Lock"] || !m["Unlock"] {
		return handle{}, fmt.Errorf("package %s: no methods Lock and Unlock on *%s", p.name, name)
	}
	return handle{Type: name, Try: m["TryLock"], Timed: m["LockFor"], Read: m["RLock"] && m["RUnlock"]}, nil
}
