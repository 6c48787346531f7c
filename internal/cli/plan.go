package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/engine"
	"lockbench/internal/host"
)

func (a *app) planCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "show what run would measure, what it would skip and how long it would take",
		Long:  "Takes the flags of run. Runs nothing and writes no file. For chaos: lockbench plan chaos.",
		Args:  noArgs,
	}
	f := a.addSpecFlags(cmd, engine.Default())
	format := cmd.Flags().String("format", "table", "table, or json (with the order of all repetitions)")
	completeWords(cmd, "format", "table", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return badFormat(*format, "table", "json")
		}
		p, err := a.plan(f, host.Collect())
		if errors.Is(err, engine.ErrNothing) {
			fmt.Fprintf(a.env.Stderr, "lockbench: note: run would refuse this: %v\n", err)
			err = nil
		}
		if err != nil {
			return err
		}
		if *format == "json" {
			return planJSON(a.env.Stdout, p)
		}
		return planTable(a.env.Stdout, p)
	}
	cmd.AddCommand(a.chaosPlanCmd())
	return cmd
}

func planTable(w io.Writer, p *engine.Plan) error {
	var rows [][]string
	skipped := 0
	for _, c := range p.Cells {
		what := fmt.Sprint(p.Spec.Reps)
		if len(p.Steps) == 0 {
			what = "0" // nothing to measure beside it
		}
		if c.Skip != "" {
			skipped++
			what = "skipped: " + c.Skip
		}
		rows = append(rows, []string{c.Name, fmt.Sprint(c.AllWorkers()), fmt.Sprint(c.Cores), c.Dispatch, what})
	}
	if err := plainTable(w, []string{"cell", "workers", "cores", "dispatch", "repetitions"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d cells, %d skipped, %d repetitions, seed %d: %s\n",
		len(p.Cells), skipped, len(p.Steps), p.Spec.Seed, estimateText(p))
	return err
}

func estimateText(p *engine.Plan) string {
	d, ok := p.Estimate()
	if !ok {
		return fmt.Sprintf("at least %v, and as long as the fixed work takes", d.Round(time.Second/10))
	}
	return fmt.Sprintf("about %v", d.Round(time.Second/10))
}

// planJSON writes the whole plan, the order of repetitions included.
func planJSON(w io.Writer, p *engine.Plan) error {
	type cellJSON struct {
		Cell     string `json:"cell"`
		Lock     string `json:"lock"`
		Workload string `json:"workload"`
		Workers  int    `json:"workers"`
		Cores    int    `json:"cores"`
		CPUs     []int  `json:"cpus,omitempty"`
		Dispatch string `json:"dispatch"`
		Skip     string `json:"skip,omitempty"`
	}
	type stepJSON struct {
		Cell string `json:"cell"`
		Rep  int    `json:"rep"`
		Seed uint64 `json:"seed"`
	}
	d, ok := p.Estimate()
	out := struct {
		Spec       engine.Spec `json:"spec"`
		Cells      []cellJSON  `json:"cells"`
		Steps      []stepJSON  `json:"steps"`
		EstimateNS int64       `json:"estimate_ns"`
		Known      bool        `json:"estimate_complete"`
	}{Spec: p.Spec, EstimateNS: int64(d), Known: ok}
	for _, c := range p.Cells {
		out.Cells = append(out.Cells, cellJSON{c.Name, c.Lock.Name, c.Workload.Name, c.AllWorkers(), c.Cores, c.CPUs, c.Dispatch, c.Skip})
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, stepJSON{s.Cell.Name, s.Rep, s.Seed})
	}
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
