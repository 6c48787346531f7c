package server

import (
	"crypto/rand"
	"sync"
)

// tokenLen is the length of a token in bytes: 128 random bits are never drawn twice.
const tokenLen = 16

// Tokens draws random values that nobody can guess. The zero value is ready; its
// methods may be called from several goroutines.
type Tokens struct {
	mu sync.Mutex
	// One read of the system's source makes many tokens: where it is a system call, it
	// costs half a microsecond.
	buf  [64 * tokenLen]byte
	left int
}

// Next returns a token of 16 random bytes, as a string.
func (t *Tokens) Next() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == 0 {
		_, _ = rand.Read(t.buf[:]) // never fails: see crypto/rand
		t.left = len(t.buf)
	}
	t.left -= tokenLen
	return string(t.buf[t.left : t.left+tokenLen])
}
