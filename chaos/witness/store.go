package witness

import (
	"errors"
	"fmt"
)

// Limits of what a server keeps. A round has some keys with some thousand operations; the limits are
// for a client that has gone wild. What is over them is not taken, so that a log never lacks
// an operation that the stores took.
const (
	MaxOps  = 1 << 18 // of a key
	MaxKeys = 1 << 12
)

// errFull is why an operation is not taken.
var errFull = errors.New("the witness keeps no more")

// stores are the two of a key, and their log. The zero value is a new key: both hold 0, and no
// token has been seen.
type stores struct {
	unfenced int64
	fenced   int64
	token    uint64 // largest that the fenced store has seen; 0 before any, which refuses nothing
	log      []Op
}

// apply does op at the time now and logs it.
//
//	            no token    token < largest seen   token >= largest seen
//	unfenced    taken       taken                  taken
//	fenced      not asked   refused                taken; token becomes the largest
//
// A read registers its token like a write. Without it a stale write that came before the
// successor's first would be taken, and what the successor had read before would overwrite it.
func (s *stores) apply(op Op, now int64) (Op, error) {
	if len(s.log) >= MaxOps {
		return Op{}, fmt.Errorf("%w: %d operations on one key", errFull, MaxOps)
	}
	op.AtNS = now
	op.Fenced, op.FencedValue = false, 0
	if op.HasToken {
		if op.Fenced = op.Token >= s.token; op.Fenced {
			s.token = op.Token
			if op.Kind == OpWrite {
				s.fenced = op.Value
			}
		}
		op.FencedValue = s.fenced
	}
	if op.Kind == OpWrite {
		s.unfenced = op.Value
	} else {
		op.Value = s.unfenced
	}
	s.log = append(s.log, op)
	return op, nil
}
