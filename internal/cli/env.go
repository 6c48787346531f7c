package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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
	cmd.RunE = func(*cobra.Command, []string) error {
		h := host.Collect()
		switch *format {
		case "text":
			if err := h.Text(a.env.Stdout); err != nil {
				return &runtimeError{fmt.Errorf("print the host: %w", err)}
			}
			c := engine.Calibrate(invariant(h))
			_, err := fmt.Fprintf(a.env.Stdout, "clock: %s, %.3f GHz, a reading costs %.1f ns, smallest step %.1f ns\nwork unit: %.3f ns\n",
				c.Clock.Kind, c.Clock.HZ/1e9, c.Clock.CostNS, c.Clock.ResolutionNS, c.UnitNS)
			return err
		case "json":
			return writeJSON(a.env.Stdout, struct {
				Host        host.Info          `json:"host"`
				Doubts      []host.Doubt       `json:"doubts"`
				Calibration engine.Calibration `json:"calibration"`
			}{h, h.Doubts(), engine.Calibrate(invariant(h))})
		}
		return badFormat(*format, "text", "json")
	}
	return cmd
}
