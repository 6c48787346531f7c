package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// inside runs a shell script from the image of tools in the network of the server's container, with the right to
// change it, and returns what it wrote to its standard output. The container that it runs in is registered like any other, and
// removed before inside returns. A server that is dead has no network; one that is paused has.
func (n *Node) inside(ctx context.Context, script string) (stdout string, err error) {
	c := n.c
	if n.clients == nil {
		return "", errors.New("it is on the host's network, which is not ours to change: use the network bridge")
	}
	i, err := imageOf(imageTools)
	if err != nil {
		return "", err
	}
	image, err := c.eng.present(ctx, i, c.o.Images[imageTools])
	if err != nil {
		return "", err
	}
	if image == "" {
		return "", &Error{fmt.Errorf("image %s is not here: %w", i.candidates(c.o.Images[imageTools])[0], ErrMissing), i.tip("")}
	}
	name := n.container + "-tools-" + token(4)
	if c.o.Register != nil {
		forget, err := c.o.Register(KindContainer, name)
		if err != nil {
			return "", fmt.Errorf("register %s %s: %w", KindContainer, name, err)
		}
		if forget != nil {
			defer func() {
				if err == nil || !errors.Is(err, errLeft) {
					forget()
				}
			}()
		}
	}
	defer func() {
		ctx, cancel := apart(ctx)
		defer cancel()
		if rerr := c.eng.remove(ctx, name); rerr != nil {
			err = errors.Join(err, errLeft, rerr) // still registered: the watchdog tries again
		}
	}()
	return c.eng.runOnce(ctx, name, client.ContainerCreateOptions{
		Config: &container.Config{Image: image, Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{script}, Labels: labelled(c.o.Owner)},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode("container:" + n.container),
			CapAdd: []string{"NET_ADMIN"}},
	})
}

// errLeft says that a container of tools is still there.
var errLeft = errors.New("left behind")

// labelled returns the labels of what is made here.
func labelled(owner map[string]string) map[string]string {
	labels := testcontainers.GenericLabels()
	maps.Copy(labels, owner)
	return labels
}

// runOnce runs a container to its end; removing it is left to the caller.
func (e *engine) runOnce(ctx context.Context, name string, o client.ContainerCreateOptions) (stdout string, err error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("make container %s: %w", name, err)
	}
	o.Name = name
	made, cancel := apart(ctx) // as in create
	defer cancel()
	if _, err := e.cli.ContainerCreate(made, o); err != nil {
		return "", fmt.Errorf("make container %s: %w", name, err)
	}
	w := e.cli.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := e.cli.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
		return "", fmt.Errorf("start container %s: %w", name, err)
	}
	var code int64
	select {
	case r := <-w.Result:
		code = r.StatusCode
	case err := <-w.Error:
		return "", fmt.Errorf("wait for container %s: %w", name, err)
	}
	r, err := e.cli.ContainerLogs(ctx, name, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", fmt.Errorf("read the output of container %s: %w", name, err)
	}
	defer func() { _ = r.Close() }() // it was only read
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, r); err != nil {
		return "", fmt.Errorf("read the output of container %s: %w", name, err)
	}
	if code != 0 {
		return "", fmt.Errorf("container %s: exit code %d: %s", name, code, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
