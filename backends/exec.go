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
	cli := n.c.eng.cli
	made, err := cli.ExecCreate(ctx, n.container, client.ExecCreateOptions{Env: env, Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return "", n.err("run a program in", err)
	}
	s, err := cli.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return "", n.err("run a program in", err)
	}
	defer s.Close()
	// The stream does not know of ctx.
	defer context.AfterFunc(ctx, s.Close)()
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, s.Reader); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", n.err("read what a program wrote in", err)
	}
	r, err := cli.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil {
		return "", n.err("ask for the end of a program in", err)
	}
	if r.ExitCode != 0 {
		return out.String(), n.err("run a program in", fmt.Errorf("exit code %d: %s", r.ExitCode, strings.TrimSpace(errs.String())))
	}
	return out.String(), nil
}
