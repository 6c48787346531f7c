//go:build race

package cell

const raceOn = true
