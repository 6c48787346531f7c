package inproc

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
)

// dumps returns the stacks of all goroutines. The world is stopped for it, which is no more than some
// preemptions when waiters spin.
func dumps() string {
	for size := 64 << 10; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return string(b[:n])
		}
	}
}

// self returns the calling goroutine's number in dumps; 0 if the header cannot be read.
func self() int64 {
	var b [64]byte
	id, _, ok := header(string(b[:runtime.Stack(b[:], false)]))
	if !ok {
		return 0
	}
	return id
}

// header reads "goroutine 7 [sleep, locked to thread]:".
func header(line string) (id int64, state string, ok bool) {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	if !ok {
		return 0, "", false
	}
	number, rest, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseInt(number, 10, 64)
	open := strings.IndexByte(rest, '[')
	if err != nil || open < 0 {
		return 0, "", false
	}
	state = rest[open+1:]
	if end := strings.IndexAny(state, ",]"); end >= 0 {
		state = state[:end]
	}
	return id, state, true
}

// inDump returns the state and the stack of a goroutine; ok is false if there is none of that number.
func inDump(dump string, id int64) (state, stack string, ok bool) {
	for block := range strings.SplitSeq(dump, "\n\n") {
		if got, state, ok := header(block); ok && got == id {
			return state, block, true
		}
	}
	return "", "", false
}

// within reports whether a stack has a frame of a method of that name. Lines of functions begin at the margin.
func within(stack, method string) bool {
	for line := range strings.Lines(stack) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "created by ") && strings.Contains(line, "."+method+"(") {
			return true
		}
	}
	return false
}

// head is the beginning of a dump, as much of it as a record has room for.
func head(dump string) string {
	const most = 64 << 10
	return string(bytes.ToValidUTF8([]byte(dump[:min(most, len(dump))]), nil))
}
