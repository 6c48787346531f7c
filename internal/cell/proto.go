package cell

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"lockbench/internal/clock"
	"lockbench/results"
	"lockbench/workloads"
)

// ProtocolMajor is the version of the cell protocol. A child refuses a spec
// of another major version; unknown fields and message types are ignored, so
// that both may grow.
const ProtocolMajor = 1

// Message types.
const (
	// Parent to child.
	MsgSpec = "spec" // what to run; the first message
	MsgGo   = "go"   // begin, at AtNS on the shared monotonic clock (0: now)
	MsgStop = "stop" // end the interval, drain, send no record
	// Child to parent.
	MsgReady  = "ready"  // set up and waiting for go
	MsgStep   = "step"   // what the child does now; also a sign of life
	MsgEvent  = "event"  // something for the file: a hang, a finding
	MsgRecord = "record" // the repetition's sample; the last message
)

// Message is one line of JSON. Only the fields of its type are set.
type Message struct {
	Type     string          `json:"type"`
	Protocol int             `json:"protocol,omitempty"` // spec, ready
	Spec     *Spec           `json:"spec,omitempty"`     // spec
	AtNS     int64           `json:"at_ns,omitempty"`    // go
	PID      int             `json:"pid,omitempty"`      // ready
	Program  string          `json:"program,omitempty"`  // ready: version of the runner
	Name     string          `json:"name,omitempty"`     // step
	Ops      int64           `json:"ops,omitempty"`      // step: operations so far
	Event    *results.Event  `json:"event,omitempty"`    // event
	Sample   *results.Sample `json:"sample,omitempty"`   // record
}

// Spec is what a child is to run. Lengths of work are in units, times in ns.
type Spec struct {
	Cell       string         `json:"cell"`
	Lock       string         `json:"lock"`
	Load       workloads.Load `json:"load"`
	Workers    int            `json:"workers"`            // of this child
	Procs      int            `json:"procs"`              // GOMAXPROCS
	CPUs       []int          `json:"cpus"`               // the affinity mask that the child must find itself in; empty: not checked
	PinCPUs    []int          `json:"pin_cpus,omitempty"` // worker i is pinned to PinCPUs[i mod len]; empty: unpinned
	Pin        string         `json:"pin"`
	Dispatch   string         `json:"dispatch"` // direct, interface
	Rep        int            `json:"rep"`
	Seed       uint64         `json:"seed"` // of this repetition
	WarmupNS   int64          `json:"warmup_ns"`
	DurationNS int64          `json:"duration_ns"`   // of the throughput interval; 0 with Ops
	ProbeNS    int64          `json:"probe_ns"`      // of the probe interval; 0: none, unless Ops is set
	Ops        int64          `json:"ops,omitempty"` // fixed work: operations of each interval over all workers of the child
	Every      int            `json:"sample_every"`
	UnitNS     float64        `json:"unit_ns"`    // calibrated length of a work unit
	TimeoutNS  int64          `json:"timeout_ns"` // without progress: hang
	Clock      clock.Clock    `json:"clock"`
	Client     int            `json:"client"`  // 0-based number of this child
	Clients    int            `json:"clients"` // children of the cell
	// Remote is set for a distributed lock. DurationNS is then of the one interval, in
	// which everything is measured, and ProbeNS is 0.
	Remote *Remote `json:"remote,omitempty"`
}

// Dispatch values.
const (
	DispatchDirect    = "direct"
	DispatchInterface = "interface"
	DispatchExternal  = "external" // another program runs the cell, in its own way
)

// MaxMessage bounds a line of the protocol.
const MaxMessage = 16 << 20

// Conn reads and writes messages. Writes may come from several goroutines.
type Conn struct {
	r  *bufio.Reader
	mu sync.Mutex
	w  io.Writer
}

// NewConn returns a connection over a pair of byte streams.
func NewConn(r io.Reader, w io.Writer) *Conn { return &Conn{r: bufio.NewReader(r), w: w} }

// Send writes one message as one line in one Write.
func (c *Conn) Send(m Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode %s message: %w", m.Type, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("send %s message: %w", m.Type, err)
	}
	return nil
}

// ErrTooLong is a line of more than MaxMessage bytes.
var ErrTooLong = errors.New("message too long")

// Receive reads the next message. At a clean end of the stream it returns
// io.EOF, in the middle of a line io.ErrUnexpectedEOF.
func (c *Conn) Receive() (Message, error) {
	line, err := c.line()
	if err != nil {
		return Message{}, err
	}
	return Decode(line)
}

func (c *Conn) line() ([]byte, error) {
	var buf []byte
	for {
		part, err := c.r.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case len(buf) > MaxMessage:
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

// Decode decodes and checks one line.
func Decode(line []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return Message{}, fmt.Errorf("decode message %q: %w", clip(line), err)
	}
	switch {
	case m.Type == "":
		return Message{}, fmt.Errorf("message without a type: %q", clip(line))
	case m.Type == MsgSpec && m.Spec == nil, m.Type == MsgEvent && m.Event == nil, m.Type == MsgRecord && m.Sample == nil:
		return Message{}, fmt.Errorf("%s message without its content: %q", m.Type, clip(line))
	}
	return m, nil
}

func clip(b []byte) string {
	if len(b) > 80 {
		return string(b[:80]) + "..."
	}
	return string(b)
}

// Validate returns what is wrong with a spec, or nil.
func (s *Spec) Validate() error {
	switch {
	case s.Lock == "":
		return errors.New("spec: no lock")
	case s.Workers < 1 || s.Workers > workloads.MaxWorkers:
		return fmt.Errorf("spec: workers %d: want 1 to %d", s.Workers, workloads.MaxWorkers)
	case s.Procs < 1:
		return fmt.Errorf("spec: procs %d: want at least 1", s.Procs)
	case s.Every < 1:
		return fmt.Errorf("spec: sample_every %d: want at least 1", s.Every)
	case s.WarmupNS < 0 || s.DurationNS < 0 || s.ProbeNS < 0 || s.Ops < 0:
		return errors.New("spec: negative length")
	case (s.DurationNS > 0) == (s.Ops > 0):
		return errors.New("spec: exactly one of duration_ns and ops must be above 0")
	case s.Ops > 0 && s.Ops < int64(s.Workers):
		return fmt.Errorf("spec: %d operations for %d workers: want at least one each", s.Ops, s.Workers)
	case !(s.UnitNS > 0):
		return errors.New("spec: unit_ns must be above 0")
	case s.TimeoutNS <= 0:
		return errors.New("spec: timeout_ns must be above 0")
	case !(s.Clock.HZ > 0):
		return errors.New("spec: the clock's hz must be above 0")
	case s.Load.Locks < 1 || s.Load.Locks > workloads.MaxLocks:
		return fmt.Errorf("spec: locks %d: want 1 to %d", s.Load.Locks, workloads.MaxLocks)
	case s.Load.Arrivals != "" && !(s.Load.RateOps > 0):
		return errors.New("spec: an open loop needs a rate above 0")
	case s.Remote != nil:
		return s.Remote.Validate()
	case s.Dispatch != DispatchDirect && s.Dispatch != DispatchInterface:
		return fmt.Errorf("spec: dispatch %q", s.Dispatch)
	}
	return nil
}
