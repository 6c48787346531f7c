package backends

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/moby/moby/client"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// Check is one thing that servers in containers need.
type Check struct {
	What   string `json:"what"` // "Docker", "image redis", "host networking"
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`         // what was found
	Hint   string `json:"hint,omitempty"` // what to do; empty if OK
}

// doctorTimeout bounds all of it.
const doctorTimeout = 2 * time.Second

// Doctor looks for what servers in containers need, for people: it never fails, pulls
// nothing and starts nothing. named are the images of Options.
func Doctor(ctx context.Context, named map[string]string) []Check {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	e, err := look(ctx)
	if err != nil {
		return []Check{{What: "Docker", Detail: err.Error(), Hint: dockerTip}}
	}
	out := []Check{{What: "Docker", OK: true, Detail: fmt.Sprintf("%s, API %s, %s", e.info.ServerVersion, e.cli.ClientVersion(), e.info.OperatingSystem)}}
	ok, why := e.hostNetwork()
	host := Check{What: "host networking", OK: ok, Detail: "servers are reached without a proxy"}
	if !ok {
		host.Detail, host.Hint = why+": ports are published on 127.0.0.1", "figures through published ports are lower; they say network=bridge"
	}
	out = append(out, host)
	for _, i := range images {
		out = append(out, e.checkImage(ctx, i, named[i.key]))
	}
	return append(out, ryukCheck())
}

// look finds Docker without deciding anything for the rest of the process: a client of our own
// finds it in the usual places, testcontainers' in the others.
func look(ctx context.Context) (*engine, error) {
	shared.Lock()
	e := shared.engine
	shared.Unlock()
	if e != nil {
		return e, nil
	}
	if cli := plainClient(ctx); cli != nil {
		if info, err := cli.Info(ctx, client.InfoOptions{}); err == nil {
			return &engine{cli: cli, info: info.Info}, nil
		}
	}
	tclog.SetDefault(tclog.NewNoopLogger())
	return dial(ctx)
}

func (e *engine) checkImage(ctx context.Context, i image, asked string) Check {
	c := Check{What: "image " + i.key}
	name, err := e.present(ctx, i, asked)
	switch {
	case err != nil:
		c.Detail = err.Error()
	case name != "":
		c.OK, c.Detail = true, name
	default:
		c.Detail, c.Hint = "not here: "+i.candidates(asked)[0], i.tip(asked)
	}
	return c
}

func ryukCheck() Check {
	c := Check{What: "reaper", OK: true, Detail: "testcontainers' own is used where its image can be had"}
	if os.Getenv(ryukEnv) == "true" {
		c.Detail = "switched off by " + ryukEnv + ": lockbench's watchdog removes what is left"
	}
	return c
}
