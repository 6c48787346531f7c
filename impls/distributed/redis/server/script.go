package server

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, no secret
	"encoding/hex"
)

// Script is a Lua script with a fixed number of keys. Make it once, with NewScript.
type Script struct {
	source string
	hash   string
	keys   int
}

// NewScript returns the script: see Server.Eval for its reply.
func NewScript(keys int, source string) *Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see above
	return &Script{source: source, hash: hex.EncodeToString(sum[:]), keys: keys}
}

func (s *Script) byHash(rest []any) []any   { return s.args("evalsha", s.hash, rest) }
func (s *Script) bySource(rest []any) []any { return s.args("eval", s.source, rest) }

func (s *Script) args(verb, body string, rest []any) []any {
	a := make([]any, 0, 3+len(rest))
	return append(append(a, verb, body, s.keys), rest...)
}
