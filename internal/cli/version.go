package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/cell"
	"lockbench/results"
)

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the program's version, toolchain and protocol",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			p := program()
			_, err := fmt.Fprintf(a.env.Stdout, "lockbench %s\nprogram: %s\ngo: %s %s/%s\ncell protocol: %d\nrecord schema: %d\n",
				version(), p.Path, runtime.Version(), runtime.GOOS, runtime.GOARCH, cell.ProtocolMajor, results.SchemaMajor)
			return err
		},
	}
}

// revision is set by the Makefile, because a build without VCS stamping knows
// nothing of the checkout: "COMMIT" or "COMMIT-dirty".
var revision string

// program describes this build.
func program() results.Program {
	p := results.Program{Version: "(devel)", Protocol: cell.ProtocolMajor}
	if b, ok := debug.ReadBuildInfo(); ok {
		p.Path = b.Path
		if b.Main.Version != "" {
			p.Version = b.Main.Version
		}
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				p.Revision = s.Value
			case "vcs.modified":
				p.Dirty = s.Value == "true"
			}
		}
	}
	if p.Revision == "" && revision != "" {
		p.Revision, p.Dirty = strings.CutSuffix(revision, "-dirty")
	}
	return p
}

// version is the program's version in one word.
func version() string { return program().String() }

// goInfo describes the toolchain and the build settings that change code.
func goInfo() results.GoInfo {
	g := results.GoInfo{Version: runtime.Version(), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		g.Build = map[string]string{}
		for _, s := range b.Settings {
			if strings.HasPrefix(s.Key, "-") || strings.HasPrefix(s.Key, "GO") || strings.HasPrefix(s.Key, "CGO_ENABLED") {
				g.Build[s.Key] = s.Value
			}
		}
	}
	return g
}
