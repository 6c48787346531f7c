package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockbench/backends"
	"lockbench/internal/engine"
	"lockbench/internal/host"
)

func (a *app) envCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "show what this host is, what about it makes numbers doubtful, and the remedy",
		Args:  noArgs,
	}
	format := cmd.Flags().String("format", "text", "text or json")
	completeWords(cmd, "format", "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h := host.Collect()
		switch *format {
		case "text":
			if err := h.Text(a.env.Stdout); err != nil {
				return &runtimeError{fmt.Errorf("print the host: %w", err)}
			}
			c := engine.Calibrate(invariant(h))
			if _, err := fmt.Fprintf(a.env.Stdout, "clock: %s, %.3f GHz, a reading costs %.1f ns, smallest step %.1f ns\nwork unit: %.3f ns\n",
				c.Clock.Kind, c.Clock.HZ/1e9, c.Clock.CostNS, c.Clock.ResolutionNS, c.UnitNS); err != nil {
				return err
			}
			return serverText(a.env.Stdout, backends.Doctor(cmd.Context(), nil))
		case "json":
			return writeJSON(a.env.Stdout, struct {
				Host        host.Info          `json:"host"`
				Doubts      []host.Doubt       `json:"doubts"`
				Calibration engine.Calibration `json:"calibration"`
				Servers     []backends.Check   `json:"servers"`
			}{h, h.Doubts(), engine.Calibrate(invariant(h)), backends.Doctor(cmd.Context(), nil)})
		}
		return badFormat(*format, "text", "json")
	}
	return cmd
}

// serverText prints what there is for distributed locks, and how to get what is missing.
func serverText(w io.Writer, checks []backends.Check) error {
	if _, err := fmt.Fprintln(w, "servers for distributed locks:"); err != nil {
		return err
	}
	for _, c := range checks {
		state, hint := "ok", ""
		if !c.OK {
			state = "missing"
		}
		if c.Hint != "" {
			hint = "; " + c.Hint
		}
		if _, err := fmt.Fprintf(w, "  %-8s %s: %s%s\n", state, c.What, c.Detail, hint); err != nil {
			return err
		}
	}
	return nil
}
