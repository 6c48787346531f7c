package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/lock"
	"lockbench/results"
	"lockbench/workloads"
)

func (a *app) listCmd() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "list locks, workloads, metrics or faults", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageErr(fmt.Errorf("list what?"), "lockbench list locks, lockbench list workloads, lockbench list metrics or lockbench list faults")
		}}
	for _, l := range []struct {
		name, short string
		table, json func(io.Writer) error
	}{
		{"locks", "list the locks", a.lockTable, a.lockJSON},
		{"workloads", "list the presets and the knobs of workloads", workloadTable, workloadJSON},
		{"metrics", "list the metrics that compare and gate know, with their direction", metricTable, metricJSON},
		{"faults", "list the faults of chaos, whom they hit, and their parameters", faultTable, faultJSON},
	} {
		cmd := &cobra.Command{Use: l.name, Short: l.short, Args: noArgs}
		format := cmd.Flags().String("format", "table", "table or json")
		completeWords(cmd, "format", "table", "json")
		cmd.RunE = func(*cobra.Command, []string) error {
			switch *format {
			case "table":
				return l.table(a.env.Stdout)
			case "json":
				return l.json(a.env.Stdout)
			}
			return badFormat(*format, "table", "json")
		}
		list.AddCommand(cmd)
	}
	return list
}

// lockLine is what is listed of a lock.
type lockLine struct {
	Name        string    `json:"name"`
	Family      string    `json:"family"`
	Doc         string    `json:"doc"`
	Source      string    `json:"source"`
	Control     bool      `json:"control"`
	FIFO        bool      `json:"fifo"`
	Allocates   bool      `json:"allocates"`
	ThreadBound bool      `json:"thread_bound"`
	MaxWorkers  int       `json:"max_workers,omitempty"`
	Caps        lock.Caps `json:"capabilities"`
	Unavailable string    `json:"unavailable,omitempty"`
	// Of distributed locks.
	Kind   string       `json:"kind,omitempty"` // lease, guarded, optimistic
	Remote *lock.Remote `json:"remote,omitempty"`
}

func (a *app) lockLines() []lockLine {
	var out []lockLine
	for _, i := range a.catalogue {
		l := lockLine{Name: i.Name, Family: i.Family, Doc: i.Doc, Source: i.Source, Control: i.Control, FIFO: i.FIFO,
			Allocates: i.Allocates, ThreadBound: i.ThreadBound, MaxWorkers: i.MaxWorkers}
		if i.Dial != nil {
			l.Kind, l.Remote, l.Unavailable = i.Kind.String(), i.Remote, i.Unavailable
			out = append(out, l)
			continue
		}
		caps, err := i.Probe()
		if err != nil {
			l.Unavailable = err.Error()
		}
		l.Caps = caps
		out = append(out, l)
	}
	return out
}

func (a *app) lockJSON(w io.Writer) error { return writeJSON(w, a.lockLines()) }

func (a *app) lockTable(w io.Writer) error {
	var rows [][]string
	for _, l := range a.lockLines() {
		doc := l.Doc
		if l.Unavailable != "" {
			doc = "not here: " + l.Unavailable
		}
		rows = append(rows, []string{l.Name, l.Family, strings.Join(l.traits(), " "), doc})
	}
	if err := plainTable(w, []string{"lock", "family", "can", "what it is"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "fifo: claims first come, first served; try, timed, ctx: TryLock, LockFor, LockContext; rw: read sections are shared;\n"+
		"N: for at most N workers; thread: workers are bound to threads; alloc: may allocate; control: measured, never judged or ranked.\n"+
		"Distributed: expires: a lease ends at its TTL; renews, fences, reentrant: can do that; guarded, optimistic: judged by what was written.")
	return err
}

func (l lockLine) traits() []string {
	var out []string
	for _, t := range []struct {
		on   bool
		word string
	}{
		{l.Control, "control"}, {l.FIFO, "fifo"}, {l.Caps.Try, "try"}, {l.Caps.Timed, "timed"}, {l.Caps.Context, "ctx"},
		{l.Remote != nil && l.Remote.Expires, "expires"}, {l.Remote != nil && l.Remote.Renews, "renews"},
		{l.Remote != nil && (l.Remote.Fences || l.Remote.AlwaysFences), "fences"}, {l.Remote != nil && l.Remote.Reentrant, "reentrant"},
		{l.Kind != "" && l.Kind != lock.KindLease.String(), l.Kind},
		{l.Caps.RW, "rw"}, {l.MaxWorkers > 0, fmt.Sprint(l.MaxWorkers)}, {l.ThreadBound, "thread"}, {l.Allocates, "alloc"},
	} {
		if t.on {
			out = append(out, t.word)
		}
	}
	return out
}

func workloadTable(w io.Writer) error {
	var rows, knobs [][]string
	for _, p := range workloads.Presets() {
		rows = append(rows, []string{p.Name, p.Spec().Workers.String(), p.Doc})
	}
	for _, x := range workloads.Knobs() {
		knobs = append(knobs, []string{"--" + x.Name, x.Value, x.Help})
	}
	if err := plainTable(w, []string{"workload", "workers", "what it is"}, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return plainTable(w, []string{"knob", "value", "what it sets"}, knobs)
}

func workloadJSON(w io.Writer) error {
	type line struct {
		Name string         `json:"name"`
		Doc  string         `json:"doc"`
		Spec workloads.Spec `json:"spec"`
	}
	out := struct {
		Workloads []line           `json:"workloads"`
		Knobs     []workloads.Knob `json:"knobs"`
	}{Knobs: workloads.Knobs()}
	for _, p := range workloads.Presets() {
		out.Workloads = append(out.Workloads, line{p.Name, p.Doc, p.Spec()})
	}
	return writeJSON(w, out)
}

func metricTable(w io.Writer) error {
	var rows [][]string
	for _, m := range results.MetricList() {
		rows = append(rows, []string{m.Name, m.Unit, m.Better.String(), m.Help})
	}
	return plainTable(w, []string{"metric", "unit", "better", "what it is"}, rows)
}

func metricJSON(w io.Writer) error {
	type line struct {
		Name   string `json:"name"`
		Unit   string `json:"unit,omitempty"`
		Better string `json:"better"`
		Help   string `json:"help"`
	}
	var out []line
	for _, m := range results.MetricList() {
		out = append(out, line{m.Name, m.Unit, m.Better.String(), m.Help})
	}
	return writeJSON(w, out)
}
