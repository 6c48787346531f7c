// Package loop is what the generated measured loops of lockbench/cmd/lockloop
// run on: the section that a lock protects, the check that nobody else is in
// it, the work inside and outside, sampling, and the stop.
//
// Its exported methods are called by generated code only; they are exported
// because that code lives in each lock's own package, where the compiler can
// inline the lock's fast path into the loop. What a cell's set-up needs is in
// [Config] and [New].
//
// # What a measured operation is
//
// The plain loop does, for each operation,
//
//	Lock; stop set? leave; owner word free? mine; counter++; work;
//	owner word still mine? free; Unlock; think
//
// and touches no memory but the lock, the [Protected] lines that the lock
// guards, the worker's own stop word and its own [Section]. It reads no clock
// and allocates nothing. The stop word is looked at once an operation, after the acquisition:
// an acquisition counts if and only if it came before the stop, so that a
// worker that was still waiting adds nothing to the figures and leaves with
// the first grant that reaches it. A batch is never waited for.
//
// # The exclusion check
//
// Owner word and counter lie on the lines that the lock protects. The owner
// word is read atomically only so that the compiler cannot forward the
// loop's own store to the read and delete the check; it is written by plain
// stores, and the counter is plain altogether, so that the race detector sees
// them as what they are: data that only the lock protects.
//
// A finding ends the batch, which keeps the call that reports it out of the
// loop: with a call that returns into the loop the compiler spills the loop's
// registers in every turn, and the null lock took 4.0 instead of 1.4 ns
// (measured, AMD EPYC, Go 1.26).
package loop
