package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// found is a container or network with an owner's label.
type found struct {
	id, name, owner string
}

// engine is what is needed of Docker.
type engine interface {
	// list returns what of a kind has an owner's label, stopped containers too.
	list(ctx context.Context, kind string) ([]found, error)
	// remove removes a container, running, paused or stopped, with its volumes; or a network. It
	// returns errAbsent if there is none of that name.
	remove(ctx context.Context, kind, name string) error
	close() error
}

var errAbsent = errors.New("not there")

type docker struct{ cli *client.Client }

var _ engine = (*docker)(nil)

// dialDocker prepares an engine; it does not talk to it yet. host is as in DOCKER_HOST; "": as in
// the environment, or the usual socket.
func dialDocker(host string) (engine, error) {
	opts := []client.Opt{client.FromEnv}
	if host != "" {
		opts = append(opts, client.WithHost(host))
	}
	cli, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("prepare a Docker client: %w", err)
	}
	return &docker{cli}, nil
}

func (d *docker) list(ctx context.Context, kind string) ([]found, error) {
	labelled := client.Filters{}.Add("label", OwnerLabel)
	var out []found
	if kind == KindNetwork {
		r, err := d.cli.NetworkList(ctx, client.NetworkListOptions{Filters: labelled})
		if err != nil {
			return nil, fmt.Errorf("list networks: %w", err)
		}
		for _, n := range r.Items {
			out = append(out, found{n.ID, n.Name, n.Labels[OwnerLabel]})
		}
		return out, nil
	}
	r, err := d.cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range r.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		out = append(out, found{c.ID, name, c.Labels[OwnerLabel]})
	}
	return out, nil
}

func (d *docker) remove(ctx context.Context, kind, name string) error {
	var err error
	if kind == KindNetwork {
		_, err = d.cli.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
	} else {
		// A paused container is frozen, and some engines wait for it to die of a signal that it cannot
		// take. It fails if the container is not paused, or not there.
		_, _ = d.cli.ContainerUnpause(ctx, name, client.ContainerUnpauseOptions{})
		_, err = d.cli.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
	if errdefs.IsNotFound(err) {
		return errAbsent
	}
	if err != nil {
		return fmt.Errorf("remove %s %s: %w", kind, name, err)
	}
	return nil
}

// close closes idle connections.
func (d *docker) close() error { return d.cli.Close() }
