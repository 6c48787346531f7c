package backends

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// toolbox is a container of tools in the network of a server's container. It does nothing by itself: scripts are run
// in it. It is made when the first one is, and stays until the server is killed or started anew, which gets another network, or
// the cluster is closed: making one takes about a second of processor, running a script a tenth of that.
type toolbox struct {
	mu     sync.Mutex
	name   string // of the container; empty: there is none
	forget func() // for the watchdog
}

// inside runs a shell script from the image of tools in the network of the server's container, with the right to
// change it, and returns what it wrote to its standard output. A server that is dead has no network; one that is
// paused has.
func (n *Node) inside(ctx context.Context, script string) (stdout string, err error) {
	name, err := n.tools(ctx)
	if err != nil {
		return "", err
	}
	return n.c.eng.exec(ctx, name, nil, "/bin/sh", "-c", script)
}

// tools returns the name of the node's toolbox, and makes it if it is not there.
func (n *Node) tools(ctx context.Context) (string, error) {
	t, c := &n.toolbox, n.c
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name != "" {
		return t.name, nil
	}
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
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := n.container + "-tools-" + token(4)
	t.forget = func() {}
	if c.o.Register != nil {
		forget, err := c.o.Register(KindContainer, name)
		if err != nil {
			return "", fmt.Errorf("register %s %s: %w", KindContainer, name, err)
		}
		if forget != nil {
			t.forget = forget
		}
	}
	t.name = name
	made, cancel := apart(ctx) // as in create
	defer cancel()
	_, err = c.eng.cli.ContainerCreate(made, client.ContainerCreateOptions{Name: name,
		Config: &container.Config{Image: image, Entrypoint: []string{"sleep", "infinity"}, Labels: labelled(c.o.Owner)},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode("container:" + n.container),
			CapAdd: []string{"NET_ADMIN"}}})
	if err == nil {
		_, err = c.eng.cli.ContainerStart(ctx, name, client.ContainerStartOptions{})
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("start container %s: %w", name, err), n.removeToolbox(made))
	}
	return name, nil
}

// putAway removes the toolbox, if there is one.
func (n *Node) putAway(ctx context.Context) error {
	n.toolbox.mu.Lock()
	defer n.toolbox.mu.Unlock()
	ctx, cancel := apart(ctx)
	defer cancel()
	return n.removeToolbox(ctx)
}

// removeToolbox removes it. Its lock is held. One that cannot be removed is still registered: the watchdog tries again.
func (n *Node) removeToolbox(ctx context.Context) error {
	t := &n.toolbox
	if t.name == "" {
		return nil
	}
	if err := n.c.eng.remove(ctx, t.name); err != nil {
		return err
	}
	t.forget()
	t.name = ""
	return nil
}

// labelled returns the labels of what is made here.
func labelled(owner map[string]string) map[string]string {
	labels := testcontainers.GenericLabels()
	maps.Copy(labels, owner)
	return labels
}
