//go:build !race

package loop

const raceEnabled = false

// Observes says whether sampled operations look at the section from outside.
const Observes = !raceEnabled
