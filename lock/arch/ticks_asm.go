//go:build amd64 || arm64

package arch

// Ticks reads the processor's time stamp counter: TSC on amd64, CNTVCT_EL0 on
// arm64. The unit is not a nanosecond; internal/clock calibrates it and decides
// whether it can be trusted at all.
//
// The reading is ordered after everything that the caller did before. RDTSC by
// itself is not: while the line of a contended lock is still on its way, the
// processor predicts that the acquisition succeeded, runs ahead and reads the
// counter, so that the wait for the line would be measured as nothing. LFENCE
// (Intel SDM vol. 2B, "RDTSC") and ISB (Arm ARM, D11.1.2) prevent that and double the cost of
// a reading, which is why readings are sampled.
//
//go:noescape
func Ticks() int64

// HasTicks says whether Ticks is a processor counter on this platform.
const HasTicks = true
