package backends

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// Exec runs a program in the server's container and returns what it wrote to its standard output.
// env are variables, NAME=VALUE; there is nothing to read. The error of a program that fails holds what it wrote
// to its standard error, but neither env nor argv, which may hold a password. When ctx ends, Exec returns; the
// program may go on until it is done, at most as long as the container.
func (n *Node) Exec(ctx context.Context, env []string, argv ...string) (stdout string, err error) {
	if stdout, err = n.c.eng.exec(ctx, n.container, env, argv...); err != nil {
		return stdout, fmt.Errorf("%s: %w", n.Name, err)
	}
	return stdout, nil
}

// exec is Exec for any container.
func (e *engine) exec(ctx context.Context, name string, env []string, argv ...string) (stdout string, err error) {
	cli := e.cli
	made, err := cli.ExecCreate(ctx, name, client.ExecCreateOptions{Env: env, Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return "", fmt.Errorf("run a program: %w", err)
	}
	s, err := cli.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return "", fmt.Errorf("run a program: %w", err)
	}
	defer s.Close()
	// The stream does not know of ctx.
	defer context.AfterFunc(ctx, s.Close)()
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, s.Reader); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("read what a program wrote: %w", err)
	}
	r, err := cli.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("ask for the end of a program: %w", err)
	}
	if r.ExitCode != 0 {
		return out.String(), fmt.Errorf("run a program: exit code %d: %s", r.ExitCode, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
