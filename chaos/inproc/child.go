package inproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// failure is what a child did instead of a round: the lock's doing, most likely, and so no error of the harness.
type failure struct {
	kind   string // of the event: "crash", "hang"
	text   string
	stderr string
}

func (f *failure) Error() string { return f.text }

// endGrace is how long a child may take to end after its last round, or its death to be noticed.
const endGrace = 2 * time.Second

// child starts one process, and takes its rounds until it has sent the last one, or one that is stuck. The process
// is gone when it returns.
func (s *session) child(ctx context.Context, todo setup) (err error) {
	line, err := json.Marshal(todo)
	if err != nil {
		return fmt.Errorf("encode what the child is to do: %w", err)
	}
	cmd := exec.Command(s.o.Argv[0], s.o.Argv[1:]...)
	stderr := &headWriter{most: 16 << 10}
	cmd.Stderr, cmd.WaitDelay = stderr, endGrace
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("pipe to child: %w", err)
	}
	// Not StdoutPipe: Wait would close it while the last round is being read.
	r, w, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("pipe from child: %w", err), stdin.Close())
	}
	defer r.Close()
	cmd.Stdout = w
	start := s.o.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	err = start(cmd)
	w.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", s.o.Argv[0], err), stdin.Close())
	}
	forget := func() {}
	defer func() {
		// A child whose rounds are over ends by itself; one that is stuck, or late, is killed. Either way it is gone.
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // how it ended is known from what it sent
		forget()
	}()
	if s.o.Hold != nil {
		f, err := s.o.Hold(cmd.Process.Pid)
		if err != nil {
			return fmt.Errorf("register child %d: %w", cmd.Process.Pid, err)
		}
		forget = f
	}
	if _, err := stdin.Write(append(line, '\n')); err != nil {
		return &failure{"crash", fmt.Sprintf("the child ended before it was told what to do: %v", err), ""}
	}
	if err := s.listen(ctx, r, todo); err != nil {
		var f *failure
		if errors.As(err, &f) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			f.stderr = stderr.String()
		}
		return err
	}
	return nil
}

type received struct {
	rep report
	err error
}

// listen takes reports until the child owes no more.
func (s *session) listen(ctx context.Context, r io.Reader, todo setup) error {
	in, quit := make(chan received), make(chan struct{})
	defer close(quit)
	go func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		for {
			var got received
			if lines.Scan() {
				got.rep, got.err = decode[report](lines.Bytes())
			} else if got.err = lines.Err(); got.err == nil {
				got.err = io.EOF
			}
			select {
			case in <- got:
			case <-quit:
				return
			}
			if got.err != nil {
				return
			}
		}
	}()
	// No round has as many steps that each may use up their patience.
	limit := todo.stall() + todo.window() + 6*todo.patience()
	silent := time.NewTimer(limit)
	defer silent.Stop()
	for owed := todo.Rounds; owed > 0; {
		var got received
		select {
		case got = <-in:
		case <-silent.C:
			return &failure{kind: "hang", text: fmt.Sprintf("the child gave no sign of life for %v, and was killed", limit)}
		case <-ctx.Done():
			return ctx.Err()
		}
		silent.Reset(limit)
		switch {
		case errors.Is(got.err, io.EOF):
			return &failure{kind: "crash", text: "the child ended in the middle of a round"}
		case got.err != nil:
			return fmt.Errorf("read from child: %w", got.err)
		case got.rep.Rep == repFailed:
			return &failure{kind: "crash", text: "the child could not play: " + got.rep.Text}
		case got.rep.Rep == repRound:
			owed--
			s.take(*got.rep.Round)
			if got.rep.Round.Stuck {
				return nil
			}
		}
	}
	return nil
}

// headWriter keeps the beginning of what is written. A dump of a crashed child begins with what matters.
type headWriter struct {
	mu   sync.Mutex
	b    strings.Builder
	most int
}

// Write implements io.Writer; it never fails.
func (h *headWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b.Write(p[:min(len(p), h.most-h.b.Len())])
	return len(p), nil
}

func (h *headWriter) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.ToValidUTF8(h.b.String(), "?")
}
