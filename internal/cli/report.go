package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"lockbench/results"
	"lockbench/results/charts"
	"lockbench/results/render"
)

func (a *app) reportCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "print the results in files, or draw them",
		Long: "Prints results that run --out and chaos --out wrote. Runs are never pooled; parts of one run in several files are put together.\n" +
			"html is one page for a browser, with tables that sort and filter, and charts; --charts writes the charts as\n" +
			"files of their own.",
		Example: "  lockbench report run.jsonl\n" +
			"  lockbench report run.jsonl --format html --out run.html\n" +
			"  lockbench report run.jsonl --charts charts/\n" +
			"  lockbench report chaos.jsonl --detail\n" +
			"  lockbench report run.jsonl --format bench > new.txt && benchstat old.txt new.txt",
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("report what? no file is given")
			}
			return nil
		},
	}
	var o reportOptions
	fs := cmd.Flags()
	fs.StringVar(&o.format, "format", "table", "one of "+formatNames())
	fs.StringVar(&o.out, "out", "", "write to this file instead of standard output")
	fs.StringVar(&o.charts, "charts", "", "write the charts as SVG files into this directory, which is made; without --format or --out nothing else")
	fs.BoolVar(&o.detail, "detail", false, "of chaos: a line for each cell with all its figures, and a bad round; only the table leaves them out otherwise")
	fs.BoolVar(&o.force, "force", false, "let --out and --charts replace existing files")
	completeWords(cmd, "format", render.Names()...)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		o.outGiven, o.chartsGiven = fs.Changed("out"), fs.Changed("charts")
		o.print = !o.chartsGiven || o.outGiven || fs.Changed("format")
		return a.report(files, o)
	}
	return cmd
}

type reportOptions struct {
	format, out, charts   string
	outGiven, chartsGiven bool
	force, detail         bool
	print                 bool // the report itself is wanted, not its charts alone
}

// report is the verb. Outputs are looked at before anything is read, and
// replaced only when there is something to write.
func (a *app) report(files []string, o reportOptions) (err error) {
	format, err := lookupFormat(o.format)
	if err != nil {
		return err
	}
	switch {
	case o.outGiven && o.out == "":
		return usageErr(errors.New("--out: the name of the file is empty"), "leave --out away to print to standard output")
	case o.chartsGiven && o.charts == "":
		return usageErr(errors.New("--charts: the name of the directory is empty"), "see: lockbench report --help")
	}
	var out *outFile
	if o.out != "" {
		if out, err = openOut("--out", o.out, o.force, files); err != nil {
			return err
		}
	}
	// What is read stays, and is most of the memory: letting the heap grow by half
	// instead of to twice its size saves a quarter of the peak for a tenth of the
	// processor time (measured: 100,000 records).
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	rep, err := readReport(files, format, o.chartsGiven)
	if err == nil {
		for _, w := range rep.Warnings {
			fmt.Fprintln(a.env.Stderr, "lockbench: warning:", w)
		}
		if o.chartsGiven {
			err = a.writeCharts(rep, o)
		}
	}
	if err != nil {
		if out != nil {
			out.abandon()
		}
		return err
	}
	write := format.Write
	if o.detail {
		write = format.Detailed
		if !slices.ContainsFunc(rep.Runs, func(r *results.RunReport) bool { return r.Chaos != nil }) {
			fmt.Fprintln(a.env.Stderr, "lockbench: warning: --detail is about chaos, of which there is none")
		}
	}
	switch {
	case out != nil:
		err = out.write(func(w io.Writer) error { return write(w, rep) })
	case o.print:
		err = write(a.env.Stdout, rep)
	}
	if err != nil {
		return &runtimeError{fmt.Errorf("print the report: %w", err)}
	}
	return nil
}

// readReport keeps of the files what the format shows, and charts if they are
// wanted.
func readReport(files []string, format render.Format, drawn bool) (*results.Report, error) {
	var opts []results.BuilderOption
	if !format.Samples && !drawn {
		opts = append(opts, results.SummariesOnly())
	}
	if format.Histograms || drawn {
		opts = append(opts, results.KeepHistograms())
	}
	b := results.NewBuilder(opts...)
	for _, f := range files {
		if err := b.AddFile(f); err != nil {
			hint := "lockbench report reads files that lockbench run --out or chaos --out wrote"
			if f == "-" {
				hint = "to read standard input: lockbench report /dev/stdin"
			}
			return nil, usageErr(err, hint)
		}
	}
	return b.Report(), nil
}

func (a *app) writeCharts(rep *results.Report, o reportOptions) error {
	paths, err := charts.WriteFiles(o.charts, o.force, rep)
	var exists *charts.ExistsError
	switch {
	case errors.As(err, &exists):
		return usageErr(fmt.Errorf("--charts: %w", err), exists.Hint())
	case err != nil:
		return &runtimeError{err}
	case len(paths) == 0:
		fmt.Fprintln(a.env.Stderr, "lockbench: warning: there is nothing to draw: no cell has figures")
		return nil
	}
	fmt.Fprintf(a.env.Stderr, "lockbench: charts in %s: %d\n", results.Printable(o.charts), len(paths))
	return nil
}
