// Package results is what a measurement leaves behind: the record schema, the
// store (JSON lines), statistics over repetitions, and reports. Package render
// below it writes reports as tables and other formats.
//
// # File format
//
// A results file is UTF-8 text, one JSON object a line, each with a field
// "type". The first record is the "run": it carries the schema version, so a
// reader refuses a foreign or a newer file at line 1. Then come samples and
// events in the order in which cells finished, each written by one write(2)
// when its cell is done. Several runs may follow one another in a file; a
// sample belongs to the last run before it. Field names carry their unit:
// _ns, _ms, _ops_s, _bytes, _pct (0 to 100), _ppm.
//
// A run of faults has no samples: it has an event of kind "fault" for each
// injection, from at_ns to end_ns on the machine's monotonic clock, and a "verdict" a
// cell of lock, fault and policy (ChaosVerdict), controls among them. What cannot
// be told is null in it, and is not 0: a lock without tokens has no
// stale_writes_fenced. A verdict has the field "fault"; without it, it is
// another one's, such as a gate's.
//
// Types that a reader does not know are counted and passed over, so that a
// newer program may add some. A file that was cut off in the middle of its last
// line (full disk, killed program) is read up to there, with a warning. A
// damaged line anywhere else is an error that names file and line.
//
// The package imports no other package of this module, reads no clock and has
// no state of its own.
package results
