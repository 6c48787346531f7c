//go:build (amd64 || arm64) && !race

package arch

// Pause hints that the caller is in a spin loop. It takes tens of
// nanoseconds, and it is a call: one a turn of the loop.
//
//go:noescape
func Pause()
