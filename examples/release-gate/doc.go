// Package releasegate has no code: it is a workflow, rules, and the test that
// runs them. See README.md.
package releasegate
