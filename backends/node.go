package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Node is a server in a container.
//
//	running --Pause--> paused --Resume--> running
//	running, paused --Kill--> dead --Restart--> running, with its data
//	running, paused, dead --RestartEmpty--> running, without
//
// Besides, on bridges, in any of these states:
//
//	connected --Isolate--> isolated from its peers --Rejoin--> connected
//
// Its address and port never change. Its methods are called by one goroutine at a time.
type Node struct {
	Name string // within its cluster: "redis-1", "sentinel-2"
	Addr string // host:port at which clients reach it

	c         *Cluster
	spec      *spec
	container string  // its name
	index     int     // among the cluster's nodes
	clients   *bridge // its network for clients; nil: the host's
	slot      int     // of the clock's file, that counts

	mu  sync.Mutex
	cpu string // the file that tells its CPU time since it was started; empty: not looked for yet
	off bool   // isolated

	toolbox toolbox
}

// Container returns the name of its container.
func (n *Node) Container() string { return n.container }

// Kill ends the server with SIGKILL, and returns when it is gone. The container stays. A
// server that is dead already stays so.
func (n *Node) Kill(ctx context.Context) error {
	state, err := n.state(ctx)
	if err != nil {
		return err
	}
	if !state.Running && !state.Paused {
		return nil
	}
	w := n.c.eng.cli.ContainerWait(ctx, n.container, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	if _, err := n.c.eng.cli.ContainerKill(ctx, n.container, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		return n.err("kill", err)
	}
	select {
	case <-w.Result:
		return n.putAway(ctx) // its network is over
	case err := <-w.Error:
		return n.err("kill", err)
	}
}

// Pause stops the server's processes where they are; the kernel goes on acknowledging what
// its clients send.
func (n *Node) Pause(ctx context.Context) error {
	if _, err := n.c.eng.cli.ContainerPause(ctx, n.container, client.ContainerPauseOptions{}); err != nil {
		return n.err("pause", err)
	}
	return nil
}

// Resume lets a paused server go on.
func (n *Node) Resume(ctx context.Context) error {
	if _, err := n.c.eng.cli.ContainerUnpause(ctx, n.container, client.ContainerUnpauseOptions{}); err != nil {
		return n.err("resume", err)
	}
	return nil
}

// Restart starts the server again, in the same container and with what it had on disk, and returns
// when it serves. One that runs is killed first. A member of a quorum whose others are mostly dead or
// paused or cut off cannot serve (etcd does not even listen then): it is started, and the caller brings back the next.
func (n *Node) Restart(ctx context.Context) error {
	if err := n.Kill(ctx); err != nil {
		return err
	}
	quorum, err := n.quorum(ctx)
	if err == nil {
		err = n.start(ctx, quorum)
	}
	if err != nil {
		return n.err("restart", err)
	}
	return nil
}

// quorum reports whether the server can serve once it runs.
func (n *Node) quorum(ctx context.Context) (bool, error) {
	if n.c.top.needsData == "" {
		return true, nil
	}
	if n.Isolated() && len(n.c.nodes) > 1 {
		return false, nil
	}
	up := 1
	for _, m := range n.c.nodes {
		if m == n {
			continue
		}
		s, err := m.state(ctx)
		if err != nil {
			return false, err
		}
		if s.Running && !s.Paused && !m.Isolated() {
			up++
		}
	}
	return 2*up > len(n.c.nodes), nil
}

// ErrNeedsData is returned by RestartEmpty for a server that cannot come back without its data.
var ErrNeedsData = errors.New("not supported")

// RestartEmpty starts the server anew, without its data, at the same address, and returns
// when it answers. ErrNeedsData is wrapped where that is not safe; nothing has happened then.
func (n *Node) RestartEmpty(ctx context.Context) error {
	if why := n.c.top.needsData; why != "" {
		return n.err("restart empty", fmt.Errorf("%w: %s", ErrNeedsData, why))
	}
	if err := n.c.eng.remove(ctx, n.container); err != nil {
		return n.err("restart empty", err)
	}
	if err := n.c.create(ctx, n); err != nil {
		return n.err("restart empty", err)
	}
	if err := n.start(ctx, true); err != nil {
		return n.err("restart empty", err)
	}
	return nil
}

// Logs returns what the server has written, the oldest first.
func (n *Node) Logs(ctx context.Context) (string, error) { return n.logs(ctx, "all") }

// Version asks the server for its version.
func (n *Node) Version(ctx context.Context) (string, error) {
	v, err := n.c.top.srv.version(ctx, n.c.target, n.Addr)
	if err != nil {
		return "", n.err("ask for the version of", err)
	}
	return v, nil
}

func (n *Node) err(what string, err error) error { return fmt.Errorf("%s %s: %w", what, n.Name, err) }

func (n *Node) state(ctx context.Context) (*container.State, error) {
	r, err := n.c.eng.cli.ContainerInspect(ctx, n.container, client.ContainerInspectOptions{})
	if err != nil {
		return nil, n.err("inspect", err)
	}
	return r.Container.State, nil
}

// start starts the container and, if asked to, waits until the server serves.
func (n *Node) start(ctx context.Context, wait bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	n.mu.Lock()
	n.cpu = ""
	n.mu.Unlock()
	if err := n.putAway(ctx); err != nil {
		return err
	}
	if _, err := n.c.eng.cli.ContainerStart(ctx, n.container, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container %s: %w", n.container, err)
	}
	if !wait {
		return nil
	}
	// A server that ends is known at once.
	exit := n.c.eng.cli.ContainerWait(ctx, n.container, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	go func() {
		select {
		case r := <-exit.Result:
			gone(fmt.Errorf("the server of %s ended with code %d", n.Name, r.StatusCode))
		case <-ctx.Done():
		}
	}()
	if err := poll(ctx, func() error { return n.c.top.srv.serves(ctx, n.c.target, n.Addr) }); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		ctx, cancel := apart(ctx)
		defer cancel()
		return fmt.Errorf("%w\nlast lines of %s:\n%s", err, n.Name, n.tail(ctx))
	}
	return nil
}

// pollEvery is how long is waited between two looks at something that has no event.
const pollEvery = 20 * time.Millisecond

// poll asks until there is no error, or ctx ends; it then returns the last one that is not for that.
func poll(ctx context.Context, ask func() error) error { return pollEach(ctx, pollEvery, ask) }

func pollEach(ctx context.Context, every time.Duration, ask func() error) error {
	t := time.NewTicker(every)
	defer t.Stop()
	var last error
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-t.C:
		}
	}
}

// tail returns the last lines of the log.
func (n *Node) tail(ctx context.Context) string {
	text, err := n.logs(ctx, "15")
	if err != nil {
		return "" // it adds to an error: there is one already
	}
	return strings.TrimRight(text, "\n")
}

func (n *Node) logs(ctx context.Context, tail string) (string, error) {
	r, err := n.c.eng.cli.ContainerLogs(ctx, n.container, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: tail})
	if err != nil {
		return "", n.err("read the log of", err)
	}
	defer func() { _ = r.Close() }() // it was only read
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, r); err != nil {
		return "", n.err("read the log of", err)
	}
	return text.String(), nil
}
