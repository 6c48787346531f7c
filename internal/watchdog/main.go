package watchdog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// cleanTime bounds the cleaning as a whole. Removing a container takes Docker some 0.3 s, and ten at
// once some seconds on a loaded machine.
const cleanTime = 40 * time.Second

// Main is the watchdog's process: it reads messages from in until in ends, removes what is
// still held, and returns an exit code: 0 if nothing is left behind, else 1. What is left is written to out for the
// parent, and to errw for whoever is there when the parent is not.
func Main(in io.Reader, out, errw io.Writer) int {
	// The parent decides: it is asked to end as well, and then the pipe ends. SIGPIPE would end this
	// process if it complained to a terminal that is gone.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTOU)
	left := watch(in, out)
	for _, l := range left {
		_, _ = fmt.Fprintln(errw, "lockbench watchdog: left behind:", l) // there is nobody else to tell
	}
	line, err := encode(message{Op: opDone, Left: left})
	if err != nil { // too long: the first ones must do
		line, err = encode(message{Op: opDone, Left: []string{shorten(left)}})
	}
	if err == nil {
		_, _ = out.Write(line) // nobody reads it if the parent is dead
	}
	if len(left) > 0 {
		return 1
	}
	return 0
}

// shorten makes a text that fits into a message, whatever is in it: JSON needs at most
// six bytes for one.
func shorten(left []string) string {
	s := fmt.Sprintf("%d things: %s", len(left), strings.Join(left, "; "))
	return strings.ToValidUTF8(s[:min(len(s), maxMessage/8)], "")
}

// watch follows the messages to their end and then cleans. It returns what is left.
func watch(in io.Reader, out io.Writer) []string {
	r := bufio.NewReaderSize(in, maxMessage)
	hello, err := next(r)
	if errors.Is(err, io.EOF) {
		return nil // the parent has ended before it could hold anything
	}
	if err != nil || hello.Op != opHello {
		return []string{fmt.Sprintf("everything: no greeting: %v", errors.Join(err, errMessage))}
	}
	ready, err := encode(message{Op: opReady})
	if err == nil {
		_, err = out.Write(ready)
	}
	if err != nil {
		return nil // as above
	}
	h := newHoldings(hello)
	for {
		m, err := next(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = h.apply(m)
		}
		if err != nil {
			// What came before still has to be removed, and what comes after too.
			h.complain(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	return h.clean(ctx, dialDocker)
}

// next reads one message. Its only error that repeats is io.EOF, which any end of the pipe is.
func next(r *bufio.Reader) (message, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		return message{}, fmt.Errorf("%w: longer than %d bytes", errMessage, maxMessage)
	}
	if err != nil {
		// Without its end a line was not written by send, which writes whole ones.
		return message{}, io.EOF
	}
	return decode(line)
}
