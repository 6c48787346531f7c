package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"lockbench/results/num"
)

// The markers of the excerpt in README.md.
const (
	blockBegin = "<!-- published:begin -->"
	blockEnd   = "<!-- published:end -->"
)

// facts are the lines of a table that begin with a word and a colon, "host: ...",
// as they stand there.
func facts(table []byte, word string) []string {
	var out []string
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, heading) {
			break
		}
		if text, ok := strings.CutPrefix(line, "- "+word+": "); ok {
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out
}

func (m *measurement) hostLine() string {
	if lines := facts(m.files[tableName], "host"); len(lines) > 0 {
		return lines[0]
	}
	return m.host
}

// index is the page that lists the measurements.
func index(all []*measurement) []byte {
	var b strings.Builder
	b.WriteString(`# Published measurements

<!-- written by internal/publish: change it there -->

Each directory is one machine, measured with lockbench as a whole: records, and
tables and charts made of them. Compare locks within a table. Numbers of different
machines, and of one machine on different days, differ by more than locks do.

`)
	if len(all) == 0 {
		b.WriteString("No machine is published yet.\n\n")
	}
	for _, m := range all {
		if m.records == nil {
			fmt.Fprintf(&b, "## %s\n\n- host: %s\n%s\n", m.chaos.host, m.chaosHost(), m.chaosIndex())
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n- host: %s\n", m.host, m.hostLine())
		for _, d := range facts(m.files[tableName], "doubt") {
			fmt.Fprintf(&b, "- doubt: %s\n", d)
		}
		fmt.Fprintf(&b, "- measured: %s, with lockbench `%s`\n", m.date, m.version)
		fmt.Fprintf(&b, "- size: %s, %s\n", num.Count(len(m.run.Cells()), "cell"), num.Count(m.run.Run.Reps, "repetition"))
		fmt.Fprintf(&b, "- [table](%[1]s/%[2]s), [report to sort and filter](%[1]s/%[3]s) (download and open it), [charts](%[1]s/%[4]s), [records](%[1]s/%[5]s), [matrix](%[1]s/%[6]s)\n%[7]s\n",
			m.host, tableName, pageName, chartsName, rawName, matrixName, m.chaosIndex())
	}
	b.WriteString("## Measure your own\n\n`make publish` measures the machine it runs on with [matrix.yaml](" + matrixName + `) and adds it here. Let
nothing else run meanwhile. The directory is named after the processor, the number of
CPUs and the hypervisor; a new measurement of the same machine takes the place of the
older one.

` + "`make publish-tables` writes tables, charts and this page again from the records, and\nmeasures nothing. A test compares every byte of them with what the records give.\n")
	return []byte(b.String())
}

// block is the excerpt for README.md, with its markers: a measurement, and the chaos of the same host or another.
// dir is the way from there to the measurements.
func block(m, chaotic *measurement, dir string) (string, error) {
	chaos, err := chaotic.chaosBlock(dir)
	if err != nil {
		return "", fmt.Errorf("%s: cut the excerpt out of the matrix: %w", chaotic.chaos.host, err)
	}
	var b strings.Builder
	b.WriteString(blockBegin + "\n## A published measurement\n\n")
	if m == nil {
		fmt.Fprintf(&b, "No machine is [published](%s) yet: `make publish` measures this one.\n%s%s", path.Join(dir, indexName), chaos, blockEnd)
		return b.String(), nil
	}
	tables, pictures, err := m.excerpt()
	if err != nil {
		return "", fmt.Errorf("%s: cut the excerpt out of the table: %w", m.host, err)
	}
	at := func(name string) string { return path.Join(dir, m.host, name) }
	fmt.Fprintf(&b, "%s, measured on %s by\n`make publish` with this [matrix](%s).\n", m.hostLine(), m.date, at(matrixName))
	fmt.Fprintf(&b, "A choice of rows; all of them are in the [full table](%s), beside it [charts](%s) and\n[records](%s). There may be [other machines](%s), too.\n",
		at(tableName), at(chartsName), at(rawName), path.Join(dir, indexName))
	for _, g := range tables {
		fmt.Fprintf(&b, "\n**%s**\n\n%s", g.title, g)
	}
	for _, c := range pictures {
		fmt.Fprintf(&b, "\n![%s](%s)\n", plain(c.Title), at(path.Join(chartsName, c.Name+".svg")))
	}
	b.WriteString(chaos + blockEnd)
	return b.String(), nil
}

// plain takes from a title what Markdown could obey.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ,.:-+/%", r) {
			return r
		}
		return ' '
	}, s)), " ")
}

// between finds the block in a page.
func between(page []byte) (from, to int, err error) {
	if n, m := bytes.Count(page, []byte(blockBegin)), bytes.Count(page, []byte(blockEnd)); n != 1 || m != 1 {
		return 0, 0, fmt.Errorf("the page has %d lines %s and %d lines %s: want one each", n, blockBegin, m, blockEnd)
	}
	from = bytes.Index(page, []byte(blockBegin))
	to = bytes.Index(page, []byte(blockEnd))
	if to < from {
		return 0, 0, fmt.Errorf("%s stands before %s", blockEnd, blockBegin)
	}
	return from, to + len(blockEnd), nil
}

// shownHost finds which of the measurements a block shows; the first one, if none.
func shownHost(block []byte, dir string, all []*measurement) *measurement {
	re := regexp.MustCompile(`\(` + regexp.QuoteMeta(path.Clean(dir)) + `/([0-9a-z-]+)/` + regexp.QuoteMeta(tableName) + `\)`)
	if found := re.FindSubmatch(block); found != nil {
		for _, m := range all {
			if m.records != nil && m.host == string(found[1]) {
				return m
			}
		}
	}
	for _, m := range all {
		if m.records != nil {
			return m
		}
	}
	return nil
}
