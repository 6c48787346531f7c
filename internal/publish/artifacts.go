package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"lockbench/results"
	"lockbench/results/charts"
	"lockbench/results/render"
)

// A tree is the files of a host's directory that are made from its records: slash
// separated name -> content.
type tree map[string][]byte

// A measurement is records and what is made of them.
type measurement struct {
	*records          // nil of a host that has nothing but chaos
	chaos    *records // nil without any
	files    tree
	charts   []*charts.Chart
}

// read loads the raw file in dir and makes everything that is published of it.
func read(dir string) (*measurement, error) {
	if onlyChaos(dir) {
		m := &measurement{files: tree{}}
		return m, m.addChaos(dir)
	}
	r, err := load(filepath.Join(dir, rawName))
	if err != nil {
		return nil, err
	}
	m := &measurement{records: r, files: tree{}}
	for name, format := range map[string]string{tableName: "markdown", pageName: "html"} {
		if m.files[name], err = formatted(r.report, format); err != nil {
			return nil, fmt.Errorf("%s: make %s: %w", dir, name, err)
		}
	}
	if m.charts, err = charts.Of(r.run); err != nil {
		return nil, fmt.Errorf("%s: draw the charts: %w", dir, err)
	}
	for _, c := range m.charts {
		m.files[path.Join(chartsName, c.Name+".svg")] = c.File()
	}
	if err := m.addChaos(dir); err != nil {
		return nil, err
	}
	return m, nil
}

// formatted is what lockbench report --format prints.
func formatted(rep *results.Report, name string) ([]byte, error) {
	f, err := render.Lookup(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = f.Write(&b, rep)
	return b.Bytes(), err
}

// write puts the files below dir, where none of them is.
func (t tree) write(dir string) error {
	for _, name := range sortedKeys(t) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, t[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// differences says how the files below dir differ from those that are made of its records; the data files
// are no difference.
func (m *measurement) differences(dir string) ([]string, error) {
	t, data := m.files, m.data()
	var out []string
	there := map[string]bool{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		there[name] = true
		want, ok := t[name]
		switch {
		case slices.Contains(data, name):
		case !ok:
			out = append(out, at+": nothing makes this file")
		default:
			got, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			if d := difference(got, want); d != "" {
				out = append(out, at+": "+d)
			}
		}
		return nil
	})
	for _, name := range append(sortedKeys(t), data...) {
		if !there[name] {
			out = append(out, filepath.Join(dir, filepath.FromSlash(name))+": the file is missing")
		}
	}
	return out, err
}

// difference says where got departs from want, "" if it does not.
func difference(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d is not what the records give", i+1)
		}
	}
	return fmt.Sprintf("%d lines, where the records give %d", len(g), len(w))
}

// replace puts the directory fresh in the place of dir, which may exist. When it
// fails, dir is what it was.
func replace(dir, fresh string) error {
	old := fresh + ".old"
	err := os.Rename(dir, old)
	had := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move the older measurement away: %w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if had {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return fmt.Errorf("move the new measurement to its place: %w", err)
	}
	if had {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("remove the older measurement: %w", err)
		}
	}
	return nil
}

// writeFile replaces a file as a whole.
func writeFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), hidden+filepath.Base(name)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already, if all went well
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
