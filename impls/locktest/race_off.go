//go:build !race

package locktest

import "time"

const (
	raceEnabled  = false
	mostWorkers  = 8
	defaultGuard = 20 * time.Second
)
