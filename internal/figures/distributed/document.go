package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/figure"
	"lockbench/results"
)

// The generated part of the document is between these.
const (
	beginMark = "<!-- bench-distributed: begin, written by make bench-distributed -->"
	endMark   = "<!-- bench-distributed: end -->"
)

// splice puts the text between the marks.
func splice(doc []byte, text string) ([]byte, error) {
	before, rest, ok := bytes.Cut(doc, []byte(beginMark+"\n"))
	_, after, ok2 := bytes.Cut(rest, []byte(endMark+"\n"))
	if !ok || !ok2 {
		return nil, fmt.Errorf("it wants the lines %q and %q, in this order", beginMark, endMark)
	}
	return fmt.Appendf(nil, "%s%s\n\n%s\n\n%s\n%s", before, beginMark, strings.TrimSpace(text), endMark, after), nil
}

// checkDocument finds out before minutes of work whether the table has a place.
func checkDocument(path string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := splice(doc, ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeDocument replaces the file in one step.
func writeDocument(path, text string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if doc, err = splice(doc, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bench-distributed-*")
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// document is what was measured, on what, and with what.
func (b *bench) document(all report) string {
	var w strings.Builder
	fmt.Fprintf(&w, "Measured on %s", b.begun.Format("2 January 2006"))
	if b.host != "" {
		fmt.Fprintf(&w, "; %s", b.host)
	}
	w.WriteString("; client and servers on the same machine.\n\n")
	for _, name := range slices.Sorted(maps.Keys(b.servers.seen)) {
		f := b.servers.seen[name]
		fmt.Fprintf(&w, "- %s: version %s, network %s, persistence: %s\n", name, f.Version, f.Network, f.Persistence)
	}
	for _, u := range b.used {
		fmt.Fprintf(&w, "- %s\n", results.Printable(u))
	}
	w.WriteString("\n| figure | value | interval | n | target | |\n|---|---|---|---|---|---|\n")
	row := func(f figure.Figure, target, verdict string) {
		if f.N < 1 || f.Err != nil {
			why := "not measured"
			if f.Err != nil {
				why += ": " + strings.Join(strings.Fields(results.Printable(f.Err.Error())), " ")
			}
			fmt.Fprintf(&w, "| %s | %s | | | %s | %s |\n", f.Name, strings.ReplaceAll(why, "|", "\\|"), target, verdict)
			return
		}
		unit := f.Unit
		if unit == "ratio" || unit == "1" {
			unit = ""
		}
		fmt.Fprintf(&w, "| %s | %s | %.4g to %.4g | %d | %s | %s |\n", f.Name, strings.TrimSpace(fmt.Sprintf("%.4g %s", f.Value, unit)), f.Lo, f.Hi, f.N, target, verdict)
	}
	for _, f := range all.figures {
		verdict := "short"
		if f.OK() {
			verdict = "ok"
		}
		row(f, fmt.Sprintf("%s %g", f.Op, f.Limit), verdict)
	}
	for _, f := range all.notes {
		row(f, "", "")
	}
	return w.String()
}
