package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lockbench/results/gate"
)

// The parts of JUnit XML that CI systems agree on.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Failure *junitDetail `xml:"failure,omitempty"`
	Error   *junitDetail `xml:"error,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// add adds a case with a verdict. Inconclusive is an error: "skipped" would be
// green everywhere.
func (s *junitSuite) add(name string, v gate.Verdict, message, text string) {
	c := junitCase{Name: name, Class: s.Name}
	d := &junitDetail{Message: message, Type: string(v), Text: text}
	s.Tests++
	switch v {
	case gate.Pass:
		c.Out = text
	case gate.Inconclusive:
		c.Error = d
		s.Errors++
	default:
		c.Failure = d
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
}

// GateJUnit writes a verdict as JUnit XML: a suite a rule, and one for the
// always-on rule.
func GateJUnit(w io.Writer, res *gate.Result) error {
	safety := junitSuite{Name: "always on: no violation, no hang"}
	for _, f := range res.Safety {
		safety.add(f.Cell+" ("+f.Side+" side)", f.Verdict, f.String(), "")
	}
	switch lines := gateSafety(res); {
	case res.SafetyReps == 0:
		safety.add("new side", gate.Inconclusive, lines[0], "")
	case len(res.Safety) == 0:
		safety.add("new side", gate.Pass, "", lines[0])
	}
	if len(res.Tests) == 0 {
		safety.add("rules", gate.Inconclusive, "no rule was tested", "")
	}
	suites := []junitSuite{safety}
	for _, r := range gateRules(res) {
		s := junitSuite{Name: r.title}
		for _, t := range r.tests {
			s.add(t.Cell.Name, t.Verdict, t.Reason, gateSentence(t))
		}
		suites = append(suites, s)
	}
	return writeJUnit(w, suites)
}

func writeJUnit(w io.Writer, suites []junitSuite) error {
	all := junitSuites{Name: "lockbench gate", Suites: suites}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("JUnit XML: %w", err)
	}
	b.WriteString("\n")
	_, err := w.Write(b.Bytes())
	return err
}

// gateSentence is a test in one line.
func gateSentence(t gate.Test) string {
	estimate, interval := gateFigure(t)
	text := fmt.Sprintf("%s: %s %s", t.Cell.Name, t.Metric, estimate)
	if interval != "-" {
		text += " (" + interval + ")"
	}
	return fmt.Sprintf("%s, allowed: %s: %s", text, t.Threshold, t.Reason)
}

// GateGitHub writes workflow commands: an error for what failed, a warning for
// what is inconclusive (the exit code stops the job), a notice for a pass. The
// whole comes first, since GitHub shows ten of a kind and step.
func GateGitHub(w io.Writer, res *gate.Result) error {
	var b strings.Builder
	gitHubLine(&b, gitHubKind(res.Verdict), res.Rules, 0, "lockbench gate", gateHeadline(res)+". "+gateMethod(res))
	for _, f := range res.Safety {
		gitHubLine(&b, gitHubKind(f.Verdict), res.Rules, 0, "gate: "+string(f.Verdict), f.Cell+": "+f.String())
	}
	for _, v := range []gate.Verdict{gate.Fail, gate.Inconclusive} {
		for _, t := range res.Tests {
			if t.Verdict == v {
				gitHubLine(&b, gitHubKind(v), res.Rules, t.Line, "gate: "+string(v)+": "+t.Rule, gateSentence(t))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func gitHubKind(v gate.Verdict) string {
	switch v {
	case gate.Pass:
		return "notice"
	case gate.Inconclusive:
		return "warning"
	}
	return "error"
}

// The escapes of workflow commands, as GitHub's own toolkit has them
// (actions/toolkit, packages/core/src/command.ts): of the message, and of a
// property, in which colon and comma end it, too.
var (
	gitHubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	gitHubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func gitHubLine(b *strings.Builder, kind, file string, line int, title, message string) {
	var props []string
	if file != "" {
		props = append(props, "file="+gitHubProperty.Replace(file))
	}
	if file != "" && line > 0 {
		props = append(props, "line="+strconv.Itoa(line))
	}
	props = append(props, "title="+gitHubProperty.Replace(title))
	fmt.Fprintf(b, "::%s %s::%s\n", kind, strings.Join(props, ","), gitHubData.Replace(message))
}
