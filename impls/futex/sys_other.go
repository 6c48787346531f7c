//go:build !linux

package futex

// unavailable says why this platform has no futexes. It keeps the locks from
// being made, so that nothing below is ever called; the locks themselves
// compile everywhere.
const unavailable = "futexes are a system call of Linux"

func wait(*uint32, uint32) { panic("futex: " + unavailable) }

func wake(*uint32) { panic("futex: " + unavailable) }

func lockPI(*uint32) { panic("futex: " + unavailable) }

func unlockPI(*uint32) { panic("futex: " + unavailable) }

func threadID() uint32 { panic("futex: " + unavailable) }
