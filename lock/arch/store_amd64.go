//go:build amd64 && !race

package arch

// PlainRelease says whether StoreRelease32 and StoreRelease64 are weaker than
// a sequentially consistent store on this build.
const PlainRelease = true

// StoreRelease32 stores v to *p with release order. See the package comment
// for where it is right.
//
//go:noescape
func StoreRelease32(p *uint32, v uint32)

// StoreRelease64 is StoreRelease32 for 64 bits.
//
//go:noescape
func StoreRelease64(p *uint64, v uint64)
