//go:build race

package leasertest

const raceEnabled = true
