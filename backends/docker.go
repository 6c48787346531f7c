package backends

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// probeTimeout bounds the first contact with Docker: one that is there answers in
// milliseconds, and what is reported must be so within 10 s.
const probeTimeout = 5 * time.Second

// engine is the Docker that containers run in.
type engine struct {
	cli  *client.Client
	info system.Info
}

// dockerTip is what helps where Docker does not.
const dockerTip = "start Docker (see: docker info; DOCKER_HOST is respected), or name a server of your own: --backend SERVICE=URL"

// one engine is enough for a process: testcontainers looks for it once, too.
var shared struct {
	sync.Mutex
	engine *engine
}

// connect finds Docker as testcontainers does: its properties file, DOCKER_HOST, the context of the
// docker command, the usual sockets.
func connect(ctx context.Context, log func(string)) (*engine, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.engine != nil {
		return shared.engine, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// testcontainers tells the standard error stream what it does; that stream is the command line's.
	tclog.SetDefault(tclog.NewNoopLogger())
	decideRyuk(ctx, log)
	e, err := dial(ctx)
	if err != nil {
		return nil, &Error{fmt.Errorf("reach Docker: %w: %w", ErrMissing, err), dockerTip}
	}
	e.startRyuk(ctx, log)
	shared.engine = e
	return e, nil
}

func dial(ctx context.Context) (*engine, error) {
	return dialWith(ctx, func(ctx context.Context) (*testcontainers.DockerClient, error) {
		return testcontainers.NewDockerClientWithOpts(ctx)
	})
}

// dialWith asks testcontainers for its client. It may hang where the library looks without
// a deadline, or panic at an environment that it does not like; neither may end us.
func dialWith(ctx context.Context, newClient func(context.Context) (*testcontainers.DockerClient, error)) (*engine, error) {
	type result struct {
		e   *engine
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{nil, fmt.Errorf("testcontainers: %v", p)}
			}
			done <- r
		}()
		cli, err := newClient(ctx)
		if err != nil {
			r.err = err
			return
		}
		info, err := cli.Info(ctx, client.InfoOptions{})
		if err != nil {
			r.err = err
			return
		}
		// Where DOCKER_HOST does not answer the library goes on to the usual sockets. Whoever set it
		// does not want that.
		if want := os.Getenv("DOCKER_HOST"); want != "" && cli.DaemonHost() != want {
			r.err = fmt.Errorf("DOCKER_HOST is %s, where nobody answers", want)
			return
		}
		r.e = &engine{cli: cli.Client, info: info.Info}
	}()
	select {
	case r := <-done:
		return r.e, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// hostNetwork reports whether a container on the host's network is reached at this
// process's 127.0.0.1, and if not, why.
func (e *engine) hostNetwork() (ok bool, why string) {
	switch {
	case runtime.GOOS != "linux" || e.info.OSType != "linux":
		return false, "Docker runs in a virtual machine here"
	case strings.Contains(e.info.OperatingSystem, "Docker Desktop"):
		return false, "Docker Desktop runs in a virtual machine"
	case slices.ContainsFunc(e.info.SecurityOptions, func(s string) bool { return strings.Contains(s, "rootless") }):
		return false, "rootless Docker has a network of its own"
	case !e.local():
		return false, "Docker is on another machine"
	}
	return true, ""
}

// local reports whether Docker is reached through a socket of this machine.
func (e *engine) local() bool {
	proto, _, _ := strings.Cut(e.cli.DaemonHost(), "://")
	return proto == "unix" || proto == "npipe"
}

// network chooses the network of a cluster.
func (e *engine) network(asked string) (string, error) {
	ok, why := e.hostNetwork()
	switch asked {
	case "":
		if ok {
			return NetworkHost, nil
		}
		return NetworkBridge, nil
	case NetworkHost:
		if !ok {
			return "", &Error{fmt.Errorf("host networking is not to be had: %s", why), "use the network bridge"}
		}
		return NetworkHost, nil
	case NetworkBridge:
		return NetworkBridge, nil
	}
	return "", &Error{fmt.Errorf("unknown network %q", asked), "host or bridge"}
}

// stopTimeout bounds what is done when the caller's context has already ended.
const stopTimeout = 30 * time.Second

// apart returns a context for cleaning up: it outlives ctx, but not for ever.
func apart(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
}

// remove removes a container with its volumes; one that is not there is no error.
func (e *engine) remove(ctx context.Context, name string) error {
	_, err := e.cli.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || notFound(err) {
		return nil
	}
	if strings.Contains(err.Error(), "already in progress") { // somebody else does it: wait until it is done
		w := e.cli.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: "removed"})
		select {
		case <-w.Result:
			return nil
		case err = <-w.Error:
			if notFound(err) {
				return nil
			}
		}
	}
	return fmt.Errorf("remove container %s: %w", name, err)
}

func notFound(err error) bool { return errdefs.IsNotFound(err) }
