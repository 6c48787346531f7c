package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/render"
)

func (a *app) compareCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "say what differs between two results, by how much, and how sure that is",
		Long: "Compares two sides. A side is a file that run --out wrote, a directory of them (all *.jsonl below it), or\n" +
			"either with a name for the output: label=path. Of each cell and metric it prints the medians, the ratio with\n" +
			"its interval, and the probability of the Mann-Whitney test, corrected for the number of rows. A single file of a\n" +
			"paired session (lockbench ab) is compared within itself, pair by pair.\n\n" +
			"It refuses what was measured otherwise: another dispatch, other threads, another workload of the same name. It\n" +
			"names every difference of host and toolchain. It decides nothing: lockbench gate does.\n\n" +
			"Exit codes: 0 compared, whatever came out; 1 runtime error; 2 what cannot be compared.",
		Example: "  lockbench compare old.jsonl new.jsonl\n" +
			"  lockbench compare before=old.jsonl after=results/ --filter 'lock=mcs*' --metric throughput_ops_s\n" +
			"  lockbench compare ab.jsonl --format markdown",
		Args: func(_ *cobra.Command, sides []string) error {
			switch len(sides) {
			case 0:
				return errors.New("compare what? two results are needed, OLD and NEW")
			case 1, 2:
				return nil
			}
			return fmt.Errorf("compare takes two results, OLD and NEW, not %d: a side of several files is a directory", len(sides))
		},
	}
	fs := cmd.Flags()
	format := fs.String("format", "table", "one of "+strings.Join(render.ComparisonNames(), ", "))
	var o compareFlags
	o.add(cmd)
	completeWords(cmd, "format", render.ComparisonNames()...)
	cmd.RunE = func(_ *cobra.Command, sides []string) error {
		f, err := render.Comparison(*format)
		if err != nil {
			return badFormat(*format, render.ComparisonNames()...)
		}
		opts, err := o.options()
		if err != nil {
			return err
		}
		c, err := compareSides(sides, opts)
		if err != nil {
			return usageErr(err, "see: lockbench compare --help")
		}
		for _, w := range c.Warnings {
			fmt.Fprintln(a.env.Stderr, "lockbench: warning:", w)
		}
		if err := f.Write(a.env.Stdout, c); err != nil {
			return &runtimeError{fmt.Errorf("print the comparison: %w", err)}
		}
		return nil
	}
	return cmd
}

func compareSides(args []string, o compare.Options) (*compare.Comparison, error) {
	first, err := compare.Load(args[0], results.SideOld)
	if err != nil {
		return nil, err
	}
	if len(args) == 2 {
		second, err := compare.Load(args[1], results.SideNew)
		if err != nil {
			return nil, err
		}
		return compare.Compare(first, second, o)
	}
	run := first.PairedRun()
	switch {
	case run == nil:
		return nil, &compare.Error{Err: fmt.Errorf("%s is one side: what is it to be compared with?", args[0]),
			Tip: "lockbench compare OLD NEW; a file alone is compared within itself only if lockbench ab wrote it"}
	case len(first.Report.Runs) > 1:
		return nil, &compare.Error{Err: fmt.Errorf("%s has %d runs: which of them?", args[0], len(first.Report.Runs)),
			Tip: "a paired session is compared alone: give a file with one run"}
	}
	c, err := compare.Paired(run, o)
	if err == nil {
		c.Warnings = slices.Concat(first.Report.Warnings, c.Warnings)
	}
	return c, err
}

// compareFlags choose what of a comparison is printed.
type compareFlags struct {
	filters, metrics []string
	alpha            float64
}

func (f *compareFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.filters, "filter", nil, "keep cells: a pattern of their names, or lock=, workload= or workers= and a pattern; may be repeated: one of each key must match")
	fs.StringArrayVar(&f.metrics, "metric", compare.DefaultMetrics(), "metrics, with commas, or all (see: lockbench list metrics); may be repeated. Each one weakens the others by the correction")
	fs.Float64Var(&f.alpha, "alpha", compare.DefaultAlpha, "probability that any difference shown is a false one, above 0 and below 1")
	completeList(cmd, "metric", append([]string{"all"}, metricNames()...))
	completeWords(cmd, "filter", "lock=", "workload=", "workers=")
}

func metricNames() []string {
	var names []string
	for _, m := range results.MetricList() {
		names = append(names, m.Name)
	}
	return names
}

func (f *compareFlags) options() (compare.Options, error) {
	o := compare.Options{Alpha: f.alpha}
	if !(f.alpha > 0 && f.alpha < 1) {
		return o, usageErr(fmt.Errorf("--alpha: %g: want a number above 0 and below 1", f.alpha), "0.05 is usual")
	}
	for _, text := range f.filters {
		x, err := compare.ParseFilter(text)
		if err != nil {
			return o, usageErr(fmt.Errorf("--filter: %w", err), "")
		}
		o.Filters = append(o.Filters, x)
	}
	for name := range strings.SplitSeq(strings.Join(f.metrics, ","), ",") {
		if name = strings.TrimSpace(name); name == "all" {
			o.Metrics = results.MetricList()
			return o, nil
		}
		m, err := results.LookupMetric(name)
		if err != nil {
			return o, usageErr(fmt.Errorf("--metric: %w", err), "")
		}
		if !slices.ContainsFunc(o.Metrics, func(have results.Metric) bool { return have.Name == m.Name }) {
			o.Metrics = append(o.Metrics, m)
		}
	}
	return o, nil
}
