package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"lockbench/backends"
)

// tool is a server's own benchmark program: on this machine, or the one in the image.
type tool struct {
	name, where, version string
	run                  func(ctx context.Context, env []string, argv ...string) (stdout string, err error)
}

// Where tools are looked for.
const (
	toolsAuto      = "auto" // in PATH, else in the server's container
	toolsPath      = "path"
	toolsContainer = "container"
)

// toolLimit bounds one run of a tool: redis-benchmark goes on for ever when its server
// refuses connections.
const toolLimit = 60 * time.Second

// find returns a tool that has said its version.
func find(ctx context.Context, name, where string, c *backends.Cluster) (tool, error) {
	var errs []error
	if where != toolsContainer {
		t := tool{name: name, where: "from PATH", run: local}
		if _, err := exec.LookPath(name); err != nil {
			errs = append(errs, fmt.Errorf("%s is not in PATH", name))
		} else if err := t.greet(ctx); err == nil {
			return t, nil
		} else {
			errs = append(errs, err)
		}
	}
	if where != toolsPath {
		t, err := inContainer(ctx, name, c)
		if err == nil {
			return t, nil
		}
		errs = append(errs, err)
	}
	return tool{}, errors.Join(errs...)
}

// inContainer is the tool in the image of the server. It must go the way that lockbench
// goes: from inside, a published port would be passed by.
func inContainer(ctx context.Context, name string, c *backends.Cluster) (tool, error) {
	if c == nil || len(c.Nodes()) == 0 {
		return tool{}, fmt.Errorf("no container to run %s in", name)
	}
	if n := c.Facts().Network; n != backends.NetworkHost {
		return tool{}, fmt.Errorf("%s in the server's container would not go by the published port that lockbench goes by (network %s)", name, n)
	}
	t := tool{name: name, where: "in the server's container", run: c.Nodes()[0].Exec}
	return t, t.greet(ctx)
}

// greet asks for the version.
func (t *tool) greet(ctx context.Context) error {
	out, err := t.limited(ctx, nil, t.name, "--version")
	if err != nil {
		return fmt.Errorf("%s %s: %w", t.name, t.where, err)
	}
	t.version, _, _ = strings.Cut(strings.TrimSpace(out), "\n")
	return nil
}

// limited runs the tool for at most toolLimit.
func (t *tool) limited(ctx context.Context, env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	return t.run(ctx, env, argv...)
}

// local runs a program of this machine. Its error holds what the program wrote to its standard
// error, and not how it was called.
func local(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second // a child of a shell may keep the pipes open
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return stdout.String(), fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
