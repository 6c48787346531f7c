package backends

import (
	"context"
	"os"
	"sync"
	"time"

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
		image := os.Getenv("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX")
		if image != "" {
			image += "/"
		}
		//lint:ignore SA1019 nothing else tells the name of the image that the library will ask for
		image += testcontainers.ReaperDefaultImage
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
