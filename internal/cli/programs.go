package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockbench/internal/cell"
	"lockbench/internal/engine"
	"lockbench/lock"
	"lockbench/results"
)

// programTime is how long a program may take to say what it is.
const programTime = 20 * time.Second

// A peer is a lockbench program of a paired session and what it says of itself.
type peer struct {
	engine.Program
	info  results.SideProgram
	locks map[string]lockLine
	names []string // in the program's own order
}

const hintPeer = "--old and --new want lockbench programs: builds of cmd/lockbench, or of a program on lockbench.Main"

// openPeers asks the programs of both sides what they are. All must speak this
// program's major version of the cell protocol.
func openPeers(ctx context.Context, old, new []string) ([]peer, error) {
	var out []peer
	for _, side := range []struct {
		name  string
		files []string
	}{{results.SideOld, old}, {results.SideNew, new}} {
		if len(side.files) == 0 {
			return nil, usageErr(fmt.Errorf("no program for the %s side", side.name), "--old PROGRAM --new PROGRAM, either several times for builds with different code layout")
		}
		for _, f := range side.files {
			p, err := openPeer(ctx, f)
			if err != nil {
				return nil, usageErr(fmt.Errorf("--%s: %w", side.name, err), hintPeer)
			}
			p.Side, p.Index, p.info.Side = side.name, len(out), side.name
			out = append(out, *p)
		}
	}
	return out, nil
}

func openPeer(ctx context.Context, file string) (*peer, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir() || st.Mode()&0o111 == 0:
		return nil, fmt.Errorf("%s is not a program", file)
	}
	p := &peer{Program: engine.Program{Path: path}, info: results.SideProgram{File: file}, locks: map[string]lockLine{}}
	if p.info.SHA256, err = fileSum(path); err != nil {
		return nil, err
	}
	text, err := output(ctx, path, "version")
	if err != nil {
		return nil, err
	}
	if err := p.readVersion(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err = output(ctx, path, "list", "locks", "--format", "json")
	if err != nil {
		return nil, err
	}
	var lines []lockLine
	if err := json.Unmarshal(text, &lines); err != nil {
		return nil, fmt.Errorf("%s does not list its locks: %w", file, err)
	}
	for _, l := range lines {
		p.names = append(p.names, l.Name)
		p.locks[l.Name] = l
	}
	return p, nil
}

// readVersion reads what the verb version prints.
func (p *peer) readVersion(text []byte) error {
	found := false
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if v, ok := strings.CutPrefix(sc.Text(), "lockbench "); ok && p.info.Version == "" {
			p.info.Version = v
		}
		v, ok := strings.CutPrefix(sc.Text(), "cell protocol: ")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("says that it speaks cell protocol %q", v)
		}
		p.info.Protocol, found = n, true
	}
	switch {
	case !found || p.info.Version == "":
		return errors.New("is no lockbench program: its version says nothing of a cell protocol")
	case p.info.Protocol != cell.ProtocolMajor:
		return fmt.Errorf("speaks cell protocol %d, this program %d: they cannot be measured together", p.info.Protocol, cell.ProtocolMajor)
	}
	return nil
}

// output runs a program and returns what it printed.
func output(ctx context.Context, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// What the program may have started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	what := filepath.Base(path) + " " + strings.Join(args, " ")
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return nil, fmt.Errorf("%s: no answer within %v", what, programTime)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", what, err, line)
	}
	return stdout.Bytes(), nil
}

// limited keeps the first MiB of what a program prints.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1<<20 - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // read only
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func elsewhere(context.Context, lock.Target) (lock.Client, error) {
	return nil, errors.New("another program's lock")
}

func kindNamed(name string) lock.Kind {
	for _, k := range []lock.Kind{lock.KindGuarded, lock.KindOptimistic} {
		if k.String() == name {
			return k
		}
	}
	return lock.KindLease
}

// commonLocks are the locks that every program has, in the first one's order,
// and a probe that answers for them: what one program cannot do, the pair
// cannot.
func commonLocks(peers []peer, broken []lock.Info) (catalogue []lock.Info, probe func(lock.Info) (lock.Caps, error)) {
	for _, name := range peers[0].names {
		everywhere := true
		for _, p := range peers[1:] {
			_, has := p.locks[name]
			everywhere = everywhere && has
		}
		if l := peers[0].locks[name]; everywhere {
			i := lock.Info{Name: l.Name, Family: l.Family, Doc: l.Doc, Source: l.Source, Control: l.Control,
				FIFO: l.FIFO, Allocates: l.Allocates, ThreadBound: l.ThreadBound, MaxWorkers: l.MaxWorkers, Unavailable: l.Unavailable}
			if l.Remote != nil { // dialled by the programs, never here
				i.Kind, i.Remote, i.Dial = kindNamed(l.Kind), l.Remote, elsewhere
			}
			catalogue = append(catalogue, i)
		}
	}
	return append(catalogue, broken...), func(i lock.Info) (lock.Caps, error) {
		if _, listed := peers[0].locks[i.Name]; !listed {
			return i.Probe() // a planted bug: no program lists those
		}
		caps := peers[0].locks[i.Name].Caps
		for _, p := range peers {
			l := p.locks[i.Name]
			switch {
			case l.Unavailable != "":
				return caps, errors.New(l.Unavailable)
			case l.Caps.Loops != caps.Loops:
				return caps, errors.New("one program has generated loops for it, another has not: they would be measured in different dispatch")
			case l.ThreadBound != peers[0].locks[i.Name].ThreadBound:
				return caps, errors.New("one program binds its workers to threads, another does not")
			}
			caps.Try, caps.Timed, caps.RW = caps.Try && l.Caps.Try, caps.Timed && l.Caps.Timed, caps.RW && l.Caps.RW
		}
		return caps, nil
	}
}
