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
// _ns, _ops_s, _bytes, _pct (0 to 100), _ppm.
//
// Types that a reader does not know are counted and passed over, so that a
// newer program may add some. A file that was cut off in the middle of its last
// line (full disk, killed program) is read up to there, with a warning. A
// damaged line anywhere else is an error that names file and line.
//
// The package imports no other package of this module, reads no clock and has
// no state of its own.
package results
