package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/exitcode"
)

// indexName is the page that lists the measurements.
const indexName = "README.md"

// hidden begins the names of what is not finished.
const hidden = ".publish-"

// A site is where measurements are published: a directory a host in out, an index
// beside them, and an excerpt in readme ("" = none).
type site struct{ out, readme string }

const hintTables = "`make publish-tables` writes everything that is made of records again"

// hosts reads all measurements, in order of their names.
func (s *site) hosts() ([]*measurement, error) {
	entries, err := os.ReadDir(s.out)
	if err != nil {
		return nil, fail(exitcode.Usage, "-out is the directory of the published measurements", "read the measurements: %w", err)
	}
	var out []*measurement
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		dir := filepath.Join(s.out, e.Name())
		m, err := read(dir)
		if err != nil {
			return nil, err
		}
		for _, r := range []*records{m.records, m.chaos} {
			if r != nil && r.host != e.Name() {
				return nil, fail(exitcode.Runtime, "give it the name that its records give it, or remove it",
					"%s: its records are of the host %s", dir, r.host)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// pages are the files outside of the hosts' directories: name -> content. show is
// the host of the excerpt; "" keeps the one that is there.
func (s *site) pages(all []*measurement, show string) (tree, error) {
	files := tree{filepath.Join(s.out, indexName): index(all)}
	if s.readme == "" {
		return files, nil
	}
	page, err := os.ReadFile(s.readme)
	if err != nil {
		return nil, fail(exitcode.Usage, "-readme is the page that shows an excerpt, empty for none", "read the page of the excerpt: %w", err)
	}
	from, to, err := between(page)
	if err != nil {
		return nil, fail(exitcode.Usage, "put the two markers, one below the other, where the excerpt belongs", "%s: %w", s.readme, err)
	}
	dir, err := filepath.Rel(filepath.Dir(s.readme), s.out)
	if err != nil {
		return nil, fail(exitcode.Usage, "give both as relative or both as absolute paths", "the way from %s to %s: %w", s.readme, s.out, err)
	}
	dir = filepath.ToSlash(dir)
	m := shownHost(page[from:to], dir, all)
	for _, h := range all {
		if h.records != nil && h.host == show {
			m = h
		}
	}
	text, err := block(m, withChaos(m, all), dir)
	if err != nil {
		return nil, err
	}
	files[s.readme] = []byte(string(page[:from]) + text + string(page[to:]))
	return files, nil
}

// writePages writes index and excerpt.
func (s *site) writePages(all []*measurement, show string) error {
	files, err := s.pages(all, show)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(files) {
		if err := writeFile(name, files[name]); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	return nil
}

// check compares everything that is made of records with what is there.
func (s *site) check(stdout io.Writer) error {
	all, err := s.hosts()
	if err != nil {
		return err
	}
	var wrong []string
	files := 0
	for _, m := range all {
		d, err := m.differences(filepath.Join(s.out, m.name()))
		if err != nil {
			return err
		}
		wrong, files = append(wrong, d...), files+len(m.files)
	}
	pages, err := s.pages(all, "")
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(pages) {
		got, err := os.ReadFile(name)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		if d := difference(got, pages[name]); d != "" {
			wrong = append(wrong, name+": "+d)
		}
	}
	if len(wrong) > 0 {
		return fail(exitcode.Runtime, hintTables, "what is published is not what its records give: %s", strings.Join(wrong, "; "))
	}
	_, err = fmt.Fprintf(stdout, "hosts: %d, files made of their records: %d, pages: %d: all the same bytes\n", len(all), files, len(pages))
	return err
}

// regenerate writes everything that is made of records.
func (s *site) regenerate(stdout io.Writer) error {
	all, err := s.hosts()
	if err != nil {
		return err
	}
	for _, m := range all {
		dir := filepath.Join(s.out, m.name())
		if d, err := m.differences(dir); err != nil {
			return err
		} else if len(d) == 0 {
			continue
		}
		err := s.stage(func(fresh string) error {
			for _, name := range m.data() {
				if err := copyFile(filepath.Join(fresh, name), filepath.Join(dir, name)); err != nil {
					return fmt.Errorf("copy the records: %w", err)
				}
			}
			return s.install(m, fresh)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "wrote %s\n", dir)
	}
	if err := s.writePages(all, ""); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote the pages of %d hosts\n", len(all))
	return nil
}

// stage calls fn with a new directory beside the hosts', and removes what fn left
// of it.
func (s *site) stage(fn func(fresh string) error) error {
	fresh, err := os.MkdirTemp(s.out, hidden)
	if err != nil {
		return fail(exitcode.Usage, "-out must be a directory that can be written", "make a directory to work in: %w", err)
	}
	defer os.RemoveAll(fresh)
	if err := os.Chmod(fresh, 0o755); err != nil { // MkdirTemp makes it private
		return err
	}
	return fn(fresh)
}

// install puts what is made of the records beside them in fresh, and fresh in the
// place of the host's directory.
func (s *site) install(m *measurement, fresh string) error {
	if err := m.files.write(fresh); err != nil {
		return fmt.Errorf("write tables and charts: %w", err)
	}
	return replace(filepath.Join(s.out, m.name()), fresh)
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
