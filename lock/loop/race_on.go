//go:build race

package loop

// raceEnabled: the race detector would rightly report the looks from outside
// at the owner word and the counter, so a -race build does not take them and
// reports neither contention nor handoffs.
const raceEnabled = true

// Observes says whether sampled operations look at the section from outside.
const Observes = !raceEnabled
