// Package wire counts what libraries send, on their connections: what they tell of
// it themselves leaves out what they repeat, and what they send on their own.
package wire
