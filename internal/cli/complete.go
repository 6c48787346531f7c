package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/cell"
	"lockbench/internal/engine"
	"lockbench/workloads"
)

// completeWords lets the shell complete a flag with one of the words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	complete(cmd, flag, func(string) []string { return words })
}

// completeList lets the shell complete the last of several words with commas
// between them.
func completeList(cmd *cobra.Command, flag string, words []string) {
	complete(cmd, flag, func(typed string) []string {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []string
		for _, w := range words {
			out = append(out, before+w)
		}
		return out
	})
}

// complete registers a completion. It fails only for a flag that there is not: a
// bug, which panics.
func complete(cmd *cobra.Command, flag string, words func(typed string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, w := range words(typed) {
			if strings.HasPrefix(w, typed) {
				out = append(out, w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic("cli: " + err.Error())
	}
}

// completeSpec completes the flags of run and plan.
func (a *app) completeSpec(cmd *cobra.Command) {
	locks, presets := []string{"all"}, []string{"all"}
	for _, i := range a.catalogue {
		locks = append(locks, i.Name)
	}
	for _, p := range workloads.Presets() {
		presets = append(presets, p.Name)
	}
	completeList(cmd, "lock", locks)
	completeList(cmd, "workload", presets)
	completeWords(cmd, "pin", engine.PinNone, engine.PinCompact, engine.PinScatter)
	completeWords(cmd, "dispatch", cell.DispatchDirect, cell.DispatchInterface)
}
