package loopback

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Requests.
const (
	opPing    = "ping"
	opAcquire = "acquire" // of the same owner again: how do I stand; a holder's TTL begins anew
	opRelease = "release" // a grant, or a place in the queue
	opDelete  = "delete"  // whoever has it: the mistake of control-naive
	opExtend  = "extend"
	opApply   = "apply"
	opValue   = "value"
	opBye     = "bye" // ends the session at once
)

// Answers.
const (
	stOK      = "ok"
	stGranted = "granted" // also pushed, with id 0, when a waiter's turn comes
	stQueued  = "queued"
	stTaken   = "taken"
	stNotHeld = "not-held"
	stBad     = "bad-request"
)

// request is one line from a client.
type request struct {
	ID    uint64        `json:"id"` // > 0, unique on its connection
	Op    string        `json:"op"`
	Key   string        `json:"key,omitempty"`
	Owner uint64        `json:"owner,omitempty"`  // of a grant; > 0
	TTL   time.Duration `json:"ttl_ns,omitempty"` // 0: as long as the connection lives
	Try   bool          `json:"try,omitempty"`
	Delta int64         `json:"delta,omitempty"`
}

// answer is one line from the server.
type answer struct {
	ID    uint64 `json:"id"` // of the request; 0: a push
	State string `json:"state"`
	Owner uint64 `json:"owner,omitempty"` // of a push
	Token uint64 `json:"token,omitempty"`
	Value int64  `json:"value,omitempty"`
	Queue int    `json:"queue,omitempty"` // how many wait
}

// maxLine bounds a request or an answer, in bytes.
const maxLine = 64 << 10

// lines reads values of type T, one a line, until read returns false or an error
// comes; io.EOF becomes nil.
func lines[T any](r io.Reader, read func(T) bool) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return fmt.Errorf("read a line of the lock protocol: %w", err)
		}
		if !read(v) {
			return nil
		}
	}
	return s.Err()
}

// line is one value as it is sent.
func line(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write a line of the lock protocol: %w", err)
	}
	return append(b, '\n'), nil
}
