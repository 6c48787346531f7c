//go:build !amd64

package clock

// tickKind names the counter of package arch; only arm64 has another one.
const tickKind = KindCNTVCT
