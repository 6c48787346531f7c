// Package host finds out what the machine is on which locks are measured, and
// what about it makes figures doubtful.
//
// Everything is read through a Source, whose file system may be a fake, so that
// machines which are not at hand can be tested. What cannot be read is absent, and
// Info.Absent says why; no reader panics or guesses.
//
// On Linux the facts come from /proc, /sys and the processor itself. On macOS
// they come from sysctl; the rest is absent.
package host
