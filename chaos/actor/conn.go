package actor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// MaxLine bounds a line of the protocol, in bytes.
const MaxLine = 64 << 10

// Conn is the parent's side. Send may be called from several goroutines, Receive from one.
type Conn struct {
	r  *bufio.Reader
	mu sync.Mutex
	w  io.Writer
}

// NewConn returns the parent's side over the process's output and input.
func NewConn(r io.Reader, w io.Writer) *Conn { return &Conn{r: bufio.NewReader(r), w: w} }

// Begin sends the first line.
func (c *Conn) Begin(s Setup) error {
	if err := c.send(s); err != nil {
		return fmt.Errorf("send the setup: %w", err)
	}
	return nil
}

// Send sends a command. One that a process would not understand is not sent.
func (c *Conn) Send(m Command) error {
	err := m.check()
	if err == nil {
		err = c.send(m)
	}
	if err != nil {
		return fmt.Errorf("send %q: %w", m.Do, err)
	}
	return nil
}

func (c *Conn) send(v any) error {
	b, err := line(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.w.Write(b)
	return err
}

// Receive returns the next event. At the end of the stream the error is io.EOF, in the
// middle of a line io.ErrUnexpectedEOF: a process that is killed may leave a part of one.
func (c *Conn) Receive() (Event, error) {
	b, err := readLine(c.r)
	if err != nil {
		return Event{}, err
	}
	return DecodeEvent(b)
}

// ErrTooLong is a line of more than MaxLine bytes.
var ErrTooLong = errors.New("the line is too long")

// line is one value as it is sent.
func line(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a line: %w", err)
	}
	if len(b) >= MaxLine {
		return nil, ErrTooLong
	}
	return append(b, '\n'), nil
}

// readLine returns the next line with its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var buf []byte
	for {
		part, err := r.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case len(buf) > MaxLine:
			return nil, ErrTooLong
		case err == nil:
			return buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// events are the kinds of events.
var events = []string{EvReady, EvDialled, EvFailed, EvRequested, EvGranted, EvRefused, EvEntered, EvRenewed, EvLost, EvPoint,
	EvWrote, EvStopped, EvLeft, EvReleased, EvProbed, EvUpdated, EvValue, EvClosed}

// DecodeEvent decodes and checks one line of a process.
func DecodeEvent(b []byte) (Event, error) {
	var e Event
	if err := decode(b, &e); err != nil {
		return Event{}, fmt.Errorf("decode an event: %w", err)
	}
	switch {
	case !slices.Contains(events, e.Ev):
		return Event{}, fmt.Errorf("decode an event: %q is none", clip(e.Ev, 40))
	case e.Actor < 0 || e.Actor >= MaxActors || e.ID < 0:
		return Event{}, fmt.Errorf("decode event %s: actor %d, command %d", e.Ev, e.Actor, e.ID)
	}
	return e, nil
}

// DecodeCommand decodes and checks one line of the parent. Errors name no values of the
// target, which may hold a password.
func DecodeCommand(b []byte) (Command, error) {
	var c Command
	err := decode(b, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Command{}, fmt.Errorf("decode a command: %w", err)
	}
	return c, nil
}

// DecodeSetup decodes and checks the first line of the parent.
func DecodeSetup(b []byte) (Setup, error) {
	var s Setup
	if err := decode(b, &s); err != nil {
		return Setup{}, fmt.Errorf("decode the setup: %w", err)
	}
	if s.Lock == "" || s.Arena == "" {
		return Setup{}, fmt.Errorf("decode the setup: lock %q, arena %q: want both", clip(s.Lock, 80), clip(s.Arena, 80))
	}
	return s, nil
}

func decode(b []byte, v any) error {
	if len(b) > MaxLine {
		return ErrTooLong
	}
	return json.Unmarshal(b, v)
}

// clip shortens a text to n bytes.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}
