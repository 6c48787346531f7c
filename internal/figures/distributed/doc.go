// Distributed measures what the project promises of its distributed locks and
// prints one line a figure, last; see package figure for their form, and
// docs/BENCH_DISTRIBUTED.md for what each figure means.
//
// Servers are brought up by package backends, one topology at a time. What is
// compared is measured on the same server in one run, round by round: in each round all
// sides run once, in random order, and ratios are taken within the round. It
// exits 0 when it could measure, whatever the figures are.
package main
