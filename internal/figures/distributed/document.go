package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/internal/docsplice"
	"lockbench/internal/figure"
	"lockbench/results"
)

// marks are the lines between which the document's generated part stands.
var marks = docsplice.Marks{Begin: "<!-- bench-distributed: begin, written by make bench-distributed -->", End: "<!-- bench-distributed: end -->"}

// document is what was measured, on what, and with what.
func (b *bench) document(all figure.Report) string {
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
	w.WriteString("\n" + all.Table())
	return w.String()
}
