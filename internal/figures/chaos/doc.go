// Chaos measures what the project promises of lockbench chaos and prints one line a figure, last; see package
// figure for their form, and docs/BENCH_CHAOS.md for what each figure means.
//
// It runs the program as a user would and reads the records that it writes: it has no way of its own into the
// harness. It exits 0 when it could measure, whatever the figures are.
package main
