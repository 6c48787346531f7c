// Package arch has the few processor operations that lock algorithms want and
// Go does not offer: the pause hint of spin loops and a release store that is
// no more than that.
//
// # Pause
//
// Pause tells the processor that the caller spins: PAUSE on amd64 (Intel SDM
// vol. 2B, "PAUSE"), ISB on arm64. arm64's YIELD is a no-op on
// most implementations, ISB stalls for a few tens of cycles; Rust and
// WebKit moved from YIELD to ISB for the same reason. Elsewhere Pause does nothing.
//
// # StoreRelease
//
// Go's atomic stores are sequentially consistent, on amd64 an XCHG: a locked
// read-modify-write that drains the store buffer and costs as much as the
// acquisition of a spin lock. A lock's release needs only release order, which
// a plain MOV has on amd64 (Intel SDM vol. 3A, section 9.2.2: stores are not
// reordered with older loads or older stores). The stub is a function that is
// never inlined, so that the compiler can neither move the store nor merge it.
//
// It is right only
//   - for integers: a pointer would need the garbage collector's write barrier;
//   - where the caller does not afterwards read another shared word and decide
//     by it: a plain store may be passed by a later load (store buffering,
//     Sewell et al., "x86-TSO", CACM 53(7), 2010). Unlock of a parking lock
//     ("is somebody asleep?") and the entry protocols of Dekker, Peterson and
//     their kin need atomic.Store. The litmus test in this package shows the
//     difference on the machine at hand.
//
// In terms of the Go memory model the stub is a synchronizing write that its
// atomic readers observe like an atomic store, minus the single total order
// with operations on other words. On arm64 sync/atomic's store is a
// release store already (STLR), so the atomic is used; the same on all other
// processors, and under the race detector, to which a plain store is a race.
package arch
