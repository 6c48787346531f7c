// Package exitcode has the exit codes of every lockbench program. When several
// apply, the worst wins: 3 beats 4 beats 5.
package exitcode

const (
	OK           = 0   // done, nothing to object
	Runtime      = 1   // the program could not do its work
	Usage        = 2   // bad flags, names, files of settings
	Safety       = 3   // a safety violation or a hang was found
	Gate         = 4   // a gate failed
	Inconclusive = 5   // no verdict
	Interrupted  = 130 // SIGINT or SIGTERM, as shells have it: 128 + 2
)
