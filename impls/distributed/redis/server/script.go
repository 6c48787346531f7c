package server

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, no secret
	"encoding/hex"
)

// Script is a Lua script with a fixed number of keys. Make it once, with NewScript.
type Script struct {
	source           string
	byHash, bySource []any // what its calls begin with, made once: a call copies it
}

// NewScript returns the script: see Server.Eval for its reply.
func NewScript(keys int, source string) *Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see above
	return &Script{
		source:   source,
		byHash:   []any{"evalsha", hex.EncodeToString(sum[:]), keys},
		bySource: []any{"eval", source, keys},
	}
}

func args(begin, rest []any) []any {
	return append(append(make([]any, 0, len(begin)+len(rest)), begin...), rest...)
}
