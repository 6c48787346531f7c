// Package witness is the data that a lock of a chaos round protects, seen from outside: for each
// key two stores side by side, one that takes every write, and one that checks fencing tokens.
//
// The stores are in the parent's process and are reached over a local socket that no fault touches.
// What arrives is stamped on arrival with the machine's monotonic clock, and logged.
package witness

// Kinds of operations.
const (
	OpRead  = "read"  // registers the token with the fenced store
	OpWrite = "write" // sets the value of both stores
)

// Op is one operation as it arrived at both stores of a key.
type Op struct {
	Kind     string `json:"kind"`
	AtNS     int64  `json:"at_ns"`  // arrival, clock.Shared
	Worker   int    `json:"worker"` // who
	HasToken bool   `json:"has_token,omitempty"`
	Token    uint64 `json:"token,omitempty"`
	Value    int64  `json:"value"` // written, or read from the unfenced store
	// Fenced says whether the fenced store took it (a read, too, is refused with a token lower than one
	// that was seen); meaningless without a token. The unfenced store takes everything.
	Fenced bool `json:"fenced,omitempty"`
	// FencedValue is what the fenced store holds after it.
	FencedValue int64 `json:"fenced_value,omitempty"`
}
