package watchdog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTime bounds the watchdog's start, of some 10 ms on an idle machine.
	readyTime = 15 * time.Second
	// writeTime bounds how long a message may wait for room in the pipe: the watchdog
	// reads at once, and 64 KiB are 500 messages.
	writeTime = 5 * time.Second
	// closeTime is what Close waits for: the watchdog bounds its own work by cleanTime.
	closeTime = cleanTime + 10*time.Second
)

// ErrEnded is wrapped by errors of a watchdog that runs no more: nothing may be made that
// would have to be held by it.
var ErrEnded = errors.New("the watchdog has ended")

// Options of Start.
type Options struct {
	// Dirs are the directories below which held paths are removed; none: os.TempDir().
	Dirs []string
	// Stderr is where the watchdog says what it could not remove when nobody else can be told; nil: nowhere.
	Stderr *os.File
}

// Watchdog is the parent's side. Its methods may be called by several goroutines.
type Watchdog struct {
	owner  Owner
	cmd    *exec.Cmd
	answer *os.File
	ended  chan struct{} // closed when the process has ended
	exit   error         // why it could not be waited for; readable once ended is closed

	mu   sync.Mutex
	pipe *os.File // nil once closed
	last uint64   // id of the latest held thing
}

// Start starts the watchdog: argv is the program and its hidden verb, which calls Main. It
// must come before whatever is to be held by it.
func Start(argv []string, o Options) (*Watchdog, error) {
	w, err := start(argv, o)
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return w, nil
}

func start(argv []string, o Options) (*Watchdog, error) {
	owner, err := Self()
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("no program")
	}
	dirs, err := absolute(o.Dirs)
	if err != nil {
		return nil, err
	}
	// Neither of our ends is inherited by other children (os.Pipe sets close-on-exec): one that had the
	// writing end would keep the watchdog waiting after our death.
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	answer, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), in.Close(), pipe.Close())
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = in, out
	if o.Stderr != nil {
		cmd.Stderr = o.Stderr
	}
	// A session of its own: signals of the terminal go to the sessions' foreground groups. No
	// parent-death signal, of course.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // it sleeps beside what is measured
	err = cmd.Start()
	_, _ = in.Close(), out.Close() // the child has them, or nobody
	if err != nil {
		return nil, errors.Join(err, pipe.Close(), answer.Close())
	}
	w := &Watchdog{owner: owner, cmd: cmd, pipe: pipe, answer: answer, ended: make(chan struct{})}
	go func() {
		w.exit = ignoreExit(cmd.Wait())
		close(w.ended)
	}()
	if err := w.greet(dirs); err != nil {
		_ = cmd.Process.Kill() // fails if it has ended
		<-w.ended
		return nil, errors.Join(err, pipe.Close(), w.exit, answer.Close())
	}
	return w, nil
}

// greet sends the first message and waits until the watchdog watches.
func (w *Watchdog) greet(dirs []string) error {
	if err := w.send(message{Op: opHello, Owner: w.owner.String(), Dirs: dirs}); err != nil {
		return err
	}
	m, err := w.receive(readyTime)
	if err != nil {
		return fmt.Errorf("wait until it watches: %w", err)
	}
	if m.Op != opReady {
		return fmt.Errorf("%w: %q instead of %q", errMessage, m.Op, opReady)
	}
	return nil
}

// receive reads one message. Between the two that there are nothing comes, so no buffer
// needs to be kept.
func (w *Watchdog) receive(limit time.Duration) (message, error) {
	if err := w.answer.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return message{}, err
	}
	line, err := bufio.NewReader(io.LimitReader(w.answer, maxMessage)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return message{}, ErrEnded
	}
	if err != nil {
		return message{}, err
	}
	return decode(line)
}

// send writes one message, whole or not at all.
func (w *Watchdog) send(m message) error {
	line, err := encode(m)
	if err != nil {
		return err
	}
	if w.pipe == nil {
		return fmt.Errorf("%w: it was closed", ErrEnded)
	}
	select {
	case <-w.ended: // killed: nobody else would end it
		return ErrEnded
	default:
	}
	if err := w.pipe.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("tell the watchdog: %w", err)
	}
	if _, err := w.pipe.Write(line); errors.Is(err, syscall.EPIPE) {
		return ErrEnded
	} else if err != nil {
		return fmt.Errorf("tell the watchdog: %w", err)
	}
	return nil
}

// Owner is this process, whose labels what is made in Docker must carry.
func (w *Watchdog) Owner() Owner { return w.owner }

// UseDocker says where containers and networks are, as in DOCKER_HOST. Without it, that
// variable or the usual socket counts.
func (w *Watchdog) UseDocker(host string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(message{Op: opDocker, Name: host})
}

// Hold is called before a container, a network or a path (kind) of that name is made. If it fails,
// the thing must not be made. forget is called when the thing is gone; more than once is as good as once.
func (w *Watchdog) Hold(kind, name string) (forget func(), err error) {
	forget, err = w.hold(message{Op: opHold, Kind: kind, Name: name})
	if err != nil {
		return nil, fmt.Errorf("register %s %s: %w", kind, name, err)
	}
	return forget, nil
}

// HoldProcess is called right after a process has been started. Until then the process itself must see to
// it that it does not outlive its parent. forget must be called before the process is waited for or
// right after: numbers are used again, but never with the same start.
func (w *Watchdog) HoldProcess(pid int) (forget func(), err error) {
	started, err := startTime(pid)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil // it has ended: there is nothing to hold
	}
	if err == nil {
		forget, err = w.hold(message{Op: opHold, Kind: KindProcess, PID: pid, Start: started})
	}
	if err != nil {
		return nil, fmt.Errorf("register process %d: %w", pid, err)
	}
	return forget, nil
}

func (w *Watchdog) hold(m message) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	m.ID = w.last
	if err := w.send(m); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		// A watchdog that has ended holds nothing, and one that misses this finds nothing to remove.
		_ = w.send(message{Op: opDrop, ID: m.ID})
	}), nil
}

// Close ends the watchdog, after it has removed what is still held. It returns an
// error that names what is left.
func (w *Watchdog) Close() error {
	w.mu.Lock()
	pipe := w.pipe
	w.pipe = nil
	w.mu.Unlock()
	if pipe == nil {
		return nil
	}
	err := pipe.Close()
	m, got := w.receive(closeTime)
	switch {
	case got != nil:
		_ = w.cmd.Process.Kill() // fails if it has ended
		err = errors.Join(err, fmt.Errorf("wait for the watchdog's end: %w", got))
	case len(m.Left) > 0:
		err = errors.Join(err, fmt.Errorf("left behind: %s", strings.Join(m.Left, "; ")))
	}
	<-w.ended
	return errors.Join(err, w.exit, w.answer.Close())
}

// ignoreExit drops an exit code or signal, of which the cause has been told otherwise.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

func absolute(dirs []string) ([]string, error) {
	if len(dirs) == 0 {
		dirs = []string{os.TempDir()}
	}
	out := make([]string, 0, len(dirs))
	for _, d := range dirs {
		a, err := filepath.Abs(d)
		if err != nil {
			return nil, fmt.Errorf("find directory %s: %w", d, err)
		}
		out = append(out, a)
	}
	return out, nil
}
