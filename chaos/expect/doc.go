// Package expect is what theory says about the cells of lockbench chaos: for each lock, topology,
// fault and policy a verdict, a bound of the recovery, a reason and its source. The file is
// chaos/expect.yaml; whoever reads it hands its bytes over.
//
// # The file
//
//	groups:                            # names that stand for several locks
//	  fenced: [redis, redis-fair]
//	sources:                           # what reasons are taken from, by a short name
//	  lease: C. G. Gray and D. R. Cheriton, Leases, SOSP 1989
//	rules:
//	  - faults: [holder-pause]         # this block is about them
//	    cells:
//	      - verdict: safe-with-fence   # all locks, topologies and policies
//	        why: The write comes after the lease has ended.
//	        source: [lease]
//	      - {locks: [fenced], topologies: [redis*], policies: [careful], bound: T + poll}
//	findings:                          # where measurement differs from that
//	  - faults: [holder-pause]
//	    locks: [redis-fair]
//	    seen: unsafe
//	    note: One sentence.
//	    see: docs/FINDINGS.md#heading
//
// # Which rule decides
//
// Rules are read from the top. The verdict of a cell, with its reason and source, is that of the last
// matching cell entry that has a verdict; its bound is that of the last one that has a bound. So general
// entries come first, exceptions below them, and an entry may say one of the two alone. "bound: none" takes
// an earlier bound back; a cell that is skipped has none. Of findings the last one that matches is told.
//
// Names in faults, locks, topologies and policies match themselves, or a beginning: "pg-row*". Locks may
// be groups. A key that is left out matches everything. [Table.Complete] finds cells without a verdict, entries
// that decide nothing, and names that match nothing.
//
// # Formulas
//
// A bound is a sum of durations: "T + tick", "max(T/2, 150ms) + 2 * poll". See [Vars] for the names in
// it. "never": nobody gets in as long as the client process lives.
package expect
