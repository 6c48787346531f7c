//go:build !amd64 || race

package arch

import "sync/atomic"

// PlainRelease says whether StoreRelease32 and StoreRelease64 are weaker than
// a sequentially consistent store on this build.
const PlainRelease = false

// StoreRelease32 stores v to *p with (at least) release order.
func StoreRelease32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// StoreRelease64 is StoreRelease32 for 64 bits.
func StoreRelease64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
