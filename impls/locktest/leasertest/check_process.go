package leasertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"lockbench/lock"
)

// checkProcess: client processes exclude each other, and one that is killed
// while it holds is survived.
func checkProcess(e *env) error {
	if runtime.GOOS == "windows" {
		return errNotClaimed
	}
	path := filepath.Join(e.t.TempDir(), "claims")
	room, err := openClaims(path)
	if err != nil {
		return err
	}
	defer room.close()
	if err := e.processesExclude(path, room); err != nil {
		return err
	}
	return e.killed(path, room)
}

func (e *env) order(me int64, key, claims string, ttl time.Duration) order {
	o := order{Me: me, Target: e.target, Key: key, Options: e.opts(), Claims: claims,
		Workers: 2, Limit: e.cfg.limit, Ops: int64(e.cfg.ops)}
	o.Target.TTL, o.Target.Workers, o.Options.TTL = ttl, workers, ttl
	if o.Target.DialTimeout == 0 {
		o.Target.DialTimeout = 10 * time.Second
	}
	return o
}

func (e *env) processesExclude(path string, room *claims) error {
	const processes = 3
	var ps []*process
	for i := range processes {
		p, err := e.start(e.order(int64(i+1), e.keys[0], path, e.cfg.ttl))
		if err != nil {
			return err
		}
		defer p.kill()
		ps = append(ps, p)
	}
	for _, p := range ps { // all are connected before any begins
		if err := p.await("ready"); err != nil {
			return err
		}
	}
	for _, p := range ps {
		p.begin()
	}
	for _, p := range ps {
		if err := p.await("done"); err != nil {
			return err
		}
	}
	n := room.entries.Load()
	switch {
	case room.violations.Load() > 0:
		return fmt.Errorf("%d violations in %d sections of %d processes", room.violations.Load(), n, processes)
	case room.counter != n:
		return fmt.Errorf("the plain counter is %d after %d sections of %d processes", room.counter, n, processes)
	case n < 2:
		return fmt.Errorf("%d acquisitions by %d processes within %v", n, processes, e.cfg.limit)
	}
	return nil
}

// killed kills a process that holds the lock while another one waits.
func (e *env) killed(path string, room *claims) error {
	const victim, next = 77, 78
	// Its TTL is waited for, and must be long enough for a machine that stands still for a second.
	o := e.order(victim, e.keys[1], path, 3*e.cfg.short)
	o.Hold = true
	p, err := e.start(o)
	if err != nil {
		return err
	}
	defer p.kill()
	if err := p.await("ready"); err != nil {
		return err
	}
	p.begin()
	if err := p.await("held"); err != nil {
		return err
	}
	c, err := e.leaser()
	if err != nil {
		return err
	}
	// Its claim ends before it is killed: afterwards nobody can say when it was gone. If the
	// next one is in already, enter and leave count that.
	kill := func() {
		room.leave(victim)
		p.kill()
	}
	if !e.info.Remote.Renews && e.info.Remote.Expires {
		kill() // nobody may wait for it meanwhile: its lease ends by itself
	}
	tr := lock.NewTrace()
	got := make(chan error, 1)
	go func() {
		l, err := e.must(c, e.keys[1], e.opts(), tr)
		if err == nil {
			room.enter(next)
			room.leave(next)
			err = e.released(l)
		}
		got <- err
	}()
	if e.info.Remote.Renews || !e.info.Remote.Expires {
		e.settle(tr)
		kill()
	}
	if _, err := within(2*e.cfg.guard, "the next acquisition after a killed holder", func() (struct{}, error) { return struct{}{}, <-got }); err != nil {
		return err
	}
	if n := room.violations.Load(); n > 0 {
		return fmt.Errorf("%d violations: somebody got in while the process that was to be killed held the lock", n)
	}
	return nil
}

// process is a client process.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	said  chan string // closed at its end
	guard time.Duration
	once  sync.Once
	noise strings.Builder // what it wrote besides; read after its end
}

// start begins a client process, which runs the very test that is running.
func (e *env) start(o order) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the test binary: %w", err)
	}
	// The name without that of this check: the test that called Run.
	name := strings.TrimSuffix(e.t.Name(), "/process")
	var parts []string
	for _, p := range strings.Split(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	cmd := exec.Command(exe, "-test.run="+strings.Join(parts, "/"), "-test.count=1", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	p := &process{cmd: cmd, said: make(chan string, 16), guard: e.cfg.guard}
	cmd.Stderr = &p.noise
	out, err := cmd.StdoutPipe()
	if err == nil {
		p.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a client process: %w", err)
	}
	go func() {
		defer close(p.said)
		for s := bufio.NewScanner(out); s.Scan(); {
			if word, ok := strings.CutPrefix(s.Text(), mark); ok {
				p.said <- word
			}
		}
		// How it ended is told by what it said last.
		_ = cmd.Wait()
	}()
	b, err := json.Marshal(o)
	if err == nil {
		_, err = p.in.Write(append(b, '\n'))
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("give a client process its order: %w", err)
	}
	return p, nil
}

// begin gives the parent's word. A process that has ended shows at the next await.
func (p *process) begin() { _, _ = io.WriteString(p.in, "go\n") }

// await waits until the process says a word.
func (p *process) await(word string) error {
	got, err := within(p.guard, "a client process that should say "+word, func() (string, error) {
		s, ok := <-p.said
		if !ok {
			return "", fmt.Errorf("a client process ended before it said %q: %s", word, p.noise.String())
		}
		return s, nil
	})
	if err == nil && got != word {
		err = fmt.Errorf("a client process said %q instead of %q", got, word)
	}
	return err
}

// kill ends the process, as kill -9 does, and waits for its end.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		p.in.Close()
		for range p.said {
		}
	})
}
