package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/build/constraint"
	"io"
	"os"
	"path/filepath"
	"strings"
)

type options struct {
	types []string
	out   string
	build string
	check bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	fs := flag.NewFlagSet("lockloop", flag.ContinueOnError)
	fs.SetOutput(stderr)
	types := fs.String("type", "", "handle types, comma separated")
	o := options{}
	fs.StringVar(&o.out, "o", "loop_gen.go", "output file")
	fs.StringVar(&o.build, "build", "", "build constraint of the output")
	fs.BoolVar(&o.check, "check", false, "write nothing; exit 1 if the output is not up to date")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	for _, t := range strings.Split(*types, ",") {
		if t = strings.TrimSpace(t); t != "" {
			o.types = append(o.types, t)
		}
	}
	if len(o.types) == 0 || fs.NArg() > 0 {
		err := errors.New("want -type NAME[,NAME...] and no arguments")
		fmt.Fprintln(stderr, "lockloop: error:", err)
		fs.Usage()
		return o, err
	}
	if o.build != "" {
		if _, err := constraint.Parse("//go:build " + o.build); err != nil {
			err = fmt.Errorf("-build: %w", err)
			fmt.Fprintln(stderr, "lockloop: error:", err)
			return o, err
		}
	}
	return o, nil
}

// put writes the generated source, or compares it with what is there.
func put(dir string, o options, src []byte) error {
	path := o.out
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, src) {
		return nil
	}
	if o.check {
		return fmt.Errorf("%s is not up to date", path)
	}
	// Written beside and renamed: a build that runs meanwhile never sees half
	// a file.
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, src, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp))
	}
	return nil
}
