// Package archtest holds the rules of docs/ARCHITECTURE.md that a machine can
// check: which package may import which, and what no source file may contain.
// It has tests only. Each rule is a line of a table with its reason, and with
// an example that breaks it: the tests check the examples too, so that a rule
// which can catch nothing fails.
package archtest
