package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/cell"
	"lockbench/internal/clock"
	"lockbench/results"
)

// A session is the children of one repetition. States of a child:
//
//	started --spec--> setting up --ready--> waiting --go--> running --record--> done
//	any --silence for the time-out and grace, or outcome hang--> dumped (SIGQUIT) --> killed
//	any --context ends--> stopping (stop sent) --> gone or killed
//	any --stream ends without a record--> crashed
type session struct {
	spec     *cell.Spec
	children []*process
	onEvent  func(results.Event)
	hold     func(pid int) (forget func(), err error) // is told of each child; may be nil
	onReady  func()                                   // all children are ready; may be nil
	onGo     func(at int64)                           // they begin at this instant of the shared clock; may be nil
}

// process is one child.
type process struct {
	cmd    *exec.Cmd
	conn   *cell.Conn
	stdin  io.Closer
	stderr *headBuffer
	out    *os.File // its output, to be read
	in     chan received
	start  time.Time
	waited chan struct{} // closed when the process is gone
	err    error         // of Wait
	swept  sync.Once     // its group is killed
}

type received struct {
	m   cell.Message
	err error
}

// Graces.
const (
	silenceGrace = 5 * time.Second // beyond the child's own time-out
	stopGrace    = 2 * time.Second // to drain after a stop
	dumpGrace    = time.Second     // to write a goroutine dump
	endGrace     = 2 * time.Second // to end after the record
	readGrace    = time.Second     // to read what a killed child had said
	startDelay   = 20 * time.Millisecond
	maxDump      = 64 << 10
)

var (
	errSilent = errors.New("the child gave no sign of life")
)

// command is the program of a child and its arguments.
type command struct {
	path string
	args []string
}

// startProcess starts one child and its reader.
func startProcess(c command, procs, memory int, cpus []int) (*process, error) {
	p := &process{stderr: &headBuffer{max: maxDump}, in: make(chan received, 16), waited: make(chan struct{})}
	p.cmd = exec.Command(c.path, c.args...)
	p.cmd.Env = childEnv(procs, memory)
	p.cmd.SysProcAttr = childAttr()
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = endGrace // a grandchild may keep the pipe open
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to child: %w", err)
	}
	// Not StdoutPipe: Wait would close it while the last record is being read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe from child: %w", err), stdin.Close())
	}
	p.cmd.Stdout = w
	p.start = time.Now()
	if err := theSpawner().start(p.cmd, cpus); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", c.path, err), r.Close(), w.Close(), stdin.Close())
	}
	w.Close()
	p.stdin, p.conn, p.out = stdin, cell.NewConn(r, stdin), r
	go func() {
		defer r.Close()
		defer close(p.in)
		for {
			m, err := p.conn.Receive()
			p.in <- received{m, err}
			if err != nil {
				return
			}
		}
	}()
	go func() { p.err = p.cmd.Wait(); close(p.waited) }()
	return p, nil
}

// end closes the stream and makes sure that the process is gone, and what it
// started with it. Its output may be held open by somebody who left its group:
// it is read until the grace is over, and no longer.
func (p *process) end(grace time.Duration) {
	p.stdin.Close()
	t := time.AfterFunc(grace, func() {
		p.swept.Do(p.killGroup)
		// An error means that the reader is done, and has closed it.
		_ = p.out.SetReadDeadline(time.Now().Add(readGrace))
	})
	defer t.Stop()
	for range p.in { // what it still has to say, until its output ends
	}
	<-p.waited
	// Once: later its number may be another group's.
	p.swept.Do(p.killGroup)
}

func (p *process) kill(sig syscall.Signal) {
	// An error means that it is gone already.
	_ = p.cmd.Process.Signal(sig)
}

// killGroup kills the child, if it is there still, and what it left in its
// process group.
func (p *process) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// dump asks for the goroutine dump and returns it. The stream stays open
// meanwhile: its end would end the child. The runtime writes all stacks within
// milliseconds, and then waits seconds for threads that may never answer.
func (p *process) dump() string {
	p.kill(syscall.SIGQUIT)
	select {
	case <-p.waited:
	case <-time.After(dumpGrace):
	}
	p.end(0)
	return p.stderr.String()
}

// run runs the repetition and returns its sample. It returns ctx.Err() if the
// context ended first; all other failures are samples.
func (s *session) run(ctx context.Context, c command, cpus []int) (*results.Sample, error) {
	began := time.Now()
	samples, err := s.collect(ctx, c, cpus)
	ended := time.Now()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var m *results.Sample
	if err == nil {
		m, err = merge(samples)
	}
	if err != nil {
		// What one child has proved does not become an error because another
		// one failed.
		for _, x := range samples {
			if rank(x.Outcome) >= rank(results.OutcomeHang) {
				return &results.Sample{Outcome: x.Outcome, Reason: x.Reason, Violations: x.Violations}, nil
			}
		}
		return s.failed(err), nil
	}
	m.OverheadNS = max(0, int64(ended.Sub(began))-m.WarmupNS-m.ElapsedNS-m.ProbeElapsedNS)
	return m, nil
}

// collect starts the children together and gathers their records.
func (s *session) collect(ctx context.Context, c command, cpus []int) (samples []*results.Sample, err error) {
	defer func() {
		var wg sync.WaitGroup
		for _, p := range s.children {
			grace := time.Duration(0)
			if err == nil {
				grace = endGrace
			}
			wg.Go(func() { p.end(grace) })
		}
		wg.Wait()
	}()
	for i := range s.spec.Clients {
		p, err := startProcess(c, s.spec.Procs, memoryLimit(s.spec), cpus)
		if err != nil {
			return nil, err
		}
		s.children = append(s.children, p)
		if s.hold != nil {
			forget, err := s.hold(p.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			defer forget()
		}
		spec := *s.spec
		spec.Client = i
		if err := p.conn.Send(cell.Message{Type: cell.MsgSpec, Protocol: cell.ProtocolMajor, Spec: &spec}); err != nil {
			return nil, s.crashed(p, err)
		}
	}
	for _, p := range s.children {
		m, err := s.await(ctx, p, cell.MsgReady)
		if err != nil {
			return nil, err
		}
		if m.Type == cell.MsgRecord { // it could not even be set up
			return []*results.Sample{m.Sample}, nil
		}
		if m.Protocol != cell.ProtocolMajor {
			return nil, fmt.Errorf("the child speaks cell protocol %d: want %d", m.Protocol, cell.ProtocolMajor)
		}
	}
	if s.onReady != nil {
		s.onReady()
	}
	at := int64(0)
	if len(s.children) > 1 || s.onGo != nil {
		at = clock.Shared() + int64(startDelay)
	}
	if s.onGo != nil {
		s.onGo(at)
	}
	for _, p := range s.children {
		if err := p.conn.Send(cell.Message{Type: cell.MsgGo, AtNS: at}); err != nil {
			return nil, s.crashed(p, err)
		}
	}
	for _, p := range s.children {
		m, err := s.await(ctx, p, cell.MsgRecord)
		if err != nil {
			return samples, err
		}
		samples = append(samples, m.Sample)
		if m.Sample.Outcome == results.OutcomeHang {
			s.event("hang", m.Sample.Reason, p.dump())
		}
	}
	return samples, nil
}

// await returns the next message of the wanted type, or a record: a child that
// fails before it is ready sends one. Events are passed on. Any message is a
// sign of life.
func (s *session) await(ctx context.Context, p *process, want string) (cell.Message, error) {
	limit := time.Duration(s.spec.TimeoutNS) + silenceGrace
	silence := time.NewTimer(limit)
	defer silence.Stop()
	gone := p.waited
	for {
		select {
		case <-gone:
			// The process has ended, and whoever may still hold its output has
			// nothing to say.
			_ = p.out.SetReadDeadline(time.Now().Add(readGrace))
			gone = nil
		case <-ctx.Done():
			for _, q := range s.children {
				_ = q.conn.Send(cell.Message{Type: cell.MsgStop}) // it may be gone
			}
			// The first child's end is awaited here, the others' by collect.
			p.end(stopGrace)
			return cell.Message{}, ctx.Err()
		case <-silence.C:
			err := fmt.Errorf("%w for %v", errSilent, limit)
			s.event("hang", err.Error(), p.dump())
			return cell.Message{}, err
		case r, ok := <-p.in:
			if !ok || r.err != nil {
				return cell.Message{}, s.crashed(p, r.err)
			}
			silence.Reset(limit)
			switch r.m.Type {
			case want, cell.MsgRecord:
				return r.m, nil
			case cell.MsgEvent:
				s.onEvent(*r.m.Event)
			}
		}
	}
}

// crashed makes the error of a child whose stream ended or broke.
func (s *session) crashed(p *process, cause error) error {
	grace := endGrace
	if cause != nil && !errors.Is(cause, io.EOF) && !errors.Is(cause, io.ErrUnexpectedEOF) && !errors.Is(cause, os.ErrDeadlineExceeded) {
		grace = 0 // it speaks nonsense
	}
	p.end(grace)
	text := "the child ended without a record"
	if p.err != nil {
		text += " (" + p.err.Error() + ")"
	}
	if line := firstLine(p.stderr.String()); line != "" {
		text += ": " + line
	}
	if cause != nil && grace == 0 {
		text = "the child broke the protocol: " + cause.Error()
	}
	s.event("crash", text, p.stderr.String())
	return errors.New(text)
}

func (s *session) event(kind, text, dump string) {
	s.onEvent(results.Event{Type: results.TypeEvent, Kind: kind, Cell: s.spec.Cell, Rep: s.spec.Rep,
		AtNS: clock.Shared(), Text: text, Dump: dump})
}

// failed is the sample of a repetition that brought none.
func (s *session) failed(err error) *results.Sample {
	out := results.OutcomeError
	if errors.Is(err, errSilent) {
		out = results.OutcomeHang
	}
	return &results.Sample{Type: results.TypeSample, Outcome: out, Reason: err.Error()}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// headBuffer keeps the first max bytes: a crash begins with its reason.
type headBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
	max int
}

func (b *headBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := b.max - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *headBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
