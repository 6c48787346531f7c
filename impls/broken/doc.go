// Package broken holds locks with planted bugs. Each re-enacts a bug that was
// reported in public, in as few lines as show it; the code is this project's
// own. They exist so that the oracles can be tested: a harness that has never
// flagged anything has not been shown to be able to.
//
//	lock                  re-enacts                    caught by
//	broken-noop           a no-op passes as fast       exclusion
//	broken-lost-wakeup    SerenityOS/serenity#20425    progress (a hang)
//	broken-two            concurrencykit/ck#99         exclusion
//
// They are in no default list, and whoever asks for one by name gets what the
// name says. None of them spins for ever: a worker that is stuck in one of
// them sleeps, so that a test can leave it behind. All their words are
// atomic, so that the bugs are in the algorithms and not in data races.
package broken

//go:generate go run lockbench/cmd/lockloop -type noopHandle,lostWakeupHandle,twoHandle
