// Package doctest executes what README.md and the other Markdown files show.
// It has tests only.
//
//	```sh      each line is run by bash from the root of a copy of the
//	           repository, with lockbench first in PATH. It must end with exit
//	           code 0, or N if it ends with "# exit N", and leave something:
//	           output or a file. Lines "make TARGET" are not run: the targets
//	           must be in the Makefile.
//	```sh docker  the same, where servers can be started; skipped elsewhere, and
//	           failed if LOCKBENCH_REQUIRE_DOCKER is set.
//	```yaml    lockbench plan -f must accept it; with a line "rules:", a gate must.
//	```python  a program, if it begins with "#!": it must work as a runner.
//
// Blocks of other kinds are not looked at. Relative links must lead to files,
// flags in running text must be flags of lockbench, and the presets listed in
// docs/WORKLOADS.md must be those that there are.
package doctest
