package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/backends"
	"lockbench/internal/watchdog"
)

func (a *app) backendsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "backends", Short: "list the ways to set up servers, or clean up on them", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageErr(errors.New("backends what?"), "lockbench backends list or lockbench backends clean")
		}}
	list := &cobra.Command{Use: "list", Short: "list the topologies", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		var rows [][]string
		for _, t := range backends.Topologies() {
			rows = append(rows, []string{t.Name, t.Service, fmt.Sprint(t.Nodes), t.Persistence, t.Doc})
		}
		return plainTable(a.env.Stdout, []string{"topology", "service", "servers", "persistence", "what it is"}, rows)
	}}
	var given []string
	clean := &cobra.Command{
		Use:   "clean",
		Short: "remove what runs have left: names on servers of your own, and containers of dead runs",
		Long: "Removes every name under lockbench/ from the given servers, also those of runs that are under way, and nothing\n" +
			"else. Without --backend: the containers and networks of runs whose process has ended.",
		Example: "  lockbench backends clean --backend redis=redis://127.0.0.1:6379\n  lockbench backends clean",
		Args:    noArgs,
	}
	clean.Flags().StringArrayVar(&given, "backend", nil, "SERVICE=URL, or the URL alone; may be repeated")
	clean.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(given) == 0 {
			removed, err := watchdog.Sweep(cmd.Context(), "")
			if err != nil {
				return &runtimeError{err}
			}
			_, err = fmt.Fprintf(a.env.Stdout, "containers and networks of dead runs removed: %d\n", len(removed))
			return err
		}
		for _, g := range given {
			service, url, err := splitBackend(g)
			if err != nil {
				return usageErr(fmt.Errorf("--backend: %w", err), hintBackend)
			}
			n, err := backends.CleanURL(cmd.Context(), service, url)
			if err != nil {
				return &runtimeError{fmt.Errorf("clean %s: %w", backends.Scrub(url), err)}
			}
			if _, err := fmt.Fprintf(a.env.Stdout, "%s: names removed: %d\n", backends.Scrub(url), n); err != nil {
				return err
			}
		}
		return nil
	}
	cmd.AddCommand(list, clean)
	return cmd
}
