//go:build !amd64 && !arm64

package arch

import "time"

// HasTicks says whether Ticks is a processor counter on this platform.
const HasTicks = false

var epoch = time.Now()

// Ticks returns nanoseconds on Go's monotonic clock.
func Ticks() int64 { return int64(time.Since(epoch)) }
