//go:build amd64 && !race

package arch

// PlainRelease says whether StoreRelease32 and StoreRelease64 are weaker than
// a sequentially consistent store on this build.
const PlainRelease = true

// StoreRelease32 stores v to *p with release order. See the package comment
// for where it is right.
//
// It is a function that is never inlined, and not assembly: to its caller both
// are calls that the compiler cannot see through, so nothing moves across, and
// its body is the one MOVL either way. But an assembly function takes its
// arguments on the stack, and these extra stores have to leave the store
// buffer before the next locked instruction can execute: an uncontended
// test-and-set lock took 5.0 ns with the assembly function and 3.0 with this
// one (measured, AMD EPYC, Go 1.26).
//
//go:noinline
func StoreRelease32(p *uint32, v uint32) { *p = v }

// StoreRelease64 is StoreRelease32 for 64 bits.
//
//go:noinline
func StoreRelease64(p *uint64, v uint64) { *p = v }
