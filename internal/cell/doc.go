// Package cell runs one repetition of one cell inside a child process: it
// makes the lock, the workers and what the lock protects, runs warm-up,
// throughput interval and probe interval, and sends one record.
//
// It imports no lock: [Main] is given the catalogue line by value. It talks to
// its parent over a byte stream by the protocol of docs/CELL_PROTOCOL.md,
// whose messages are in proto.go.
package cell
