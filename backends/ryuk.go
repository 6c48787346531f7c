package backends

import (
	"context"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// ryukEnv is the variable that switches testcontainers' reaper off.
const ryukEnv = "TESTCONTAINERS_RYUK_DISABLED"

// ryukPull bounds how long is waited for the reaper's image, a few megabytes: less than what
// a machine without a registry may spend on a whole start.
const ryukPull = 3 * time.Second

var ryukOnce sync.Once

// decideRyuk switches testcontainers' reaper off if its image is neither here nor to be had:
// otherwise no container could be made at all. testcontainers reads its settings once, when it is
// first used, so this comes before; and so the client is one of our own.
func decideRyuk(ctx context.Context, log func(string)) {
	ryukOnce.Do(func() {
		if os.Getenv(ryukEnv) != "" {
			return
		}
		cli := plainClient(ctx)
		if cli == nil {
			return // Docker is elsewhere, or nowhere: the next step finds out
		}
		defer func() { _ = cli.Close() }() // idle connections
		image := ryukImage()
		if _, err := cli.ImageInspect(ctx, image); err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, ryukPull)
		defer cancel()
		if err := pull(ctx, cli, image, ""); err == nil {
			return
		}
		// An error of Setenv needs a name with = or NUL in it.
		_ = os.Setenv(ryukEnv, "true")
		log("testcontainers' reaper " + image + " is not to be had: going on without it (containers are removed by lockbench itself)")
	})
}

// plainClient returns a client of the Docker that DOCKER_HOST names, or of the usual socket, if it
// answers; else nil. It reads none of testcontainers' settings.
func plainClient(ctx context.Context) *client.Client {
	for _, opts := range [][]client.Opt{{client.FromEnv}, nil} {
		cli, err := client.New(opts...)
		if err != nil {
			continue // a DOCKER_HOST that is no address
		}
		if _, err := cli.Ping(ctx, client.PingOptions{}); err == nil {
			return cli
		}
		_ = cli.Close() // idle connections
	}
	return nil
}

func ryukImage() string {
	//lint:ignore SA1019 nothing else tells the name of the image that the library will ask for
	return hub(testcontainers.ReaperDefaultImage)
}

// ryukPort is where it listens in its container, unless RYUK_PORT says otherwise.
const ryukPort = 8080

// startRyuk starts the reaper as testcontainers would, which then takes the one that it finds: but
// published on 127.0.0.1 alone. The library publishes it, a container that holds Docker's own socket, on all
// addresses. Where this does not work out the library is left to it.
func (e *engine) startRyuk(ctx context.Context, log func(string)) {
	labels := testcontainers.GenericLabels()
	const base = "org.testcontainers."
	if labels[base+"reap"] != "true" || os.Getenv("RYUK_PORT") != "" {
		return // switched off, or set up otherwise by the user
	}
	p, err := testcontainers.NewDockerProvider()
	if err != nil {
		return // making the first container says the same
	}
	// From within a container it is reached through a gateway, where 127.0.0.1 is another.
	if host, err := p.DaemonHost(ctx); err != nil || host != "localhost" && host != localhost {
		return
	}
	delete(labels, base+"reap") // it does not end itself
	labels[base+"reaper"], labels[base+"ryuk"] = "true", "true"
	exposed := port(ryukPort)
	name := "reaper_" + testcontainers.SessionID()
	_, err = e.cli.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:   name,
		Config: &container.Config{Image: ryukImage(), Labels: labels, ExposedPorts: network.PortSet{exposed: {}}},
		HostConfig: &container.HostConfig{
			AutoRemove: true, NetworkMode: "bridge",
			//lint:ignore SA1019 the function that is to be used instead is in an internal package, or panics
			Binds:        []string{testcontainers.ExtractDockerSocket() + ":/var/run/docker.sock"},
			PortBindings: network.PortMap{exposed: {{HostIP: netip.MustParseAddr(localhost), HostPort: "0"}}},
		},
	})
	if errdefs.IsConflict(err) {
		return // another process of this session has one
	}
	if err == nil {
		_, err = e.cli.ContainerStart(ctx, name, client.ContainerStartOptions{})
	}
	if err != nil {
		log("testcontainers' reaper could not be started on 127.0.0.1 alone: " + err.Error())
		if err := e.remove(ctx, name); err != nil {
			log(err.Error())
		}
	}
}
