//go:build !amd64 && !arm64 && !race

package arch

// Pause does nothing on processors for which no hint is known.
func Pause() {}
