package backends

// Pick makes clusters of o use ports of the test's choice.
func Pick(o *Options, pick func(n int) ([]int, error)) { o.pick = pick }

// FreePorts is how they are picked otherwise.
var FreePorts = freePorts

// EphemeralLow is where the range of outgoing connections begins.
var EphemeralLow = ephemeralLow
