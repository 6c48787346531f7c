package backends

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/near"
)

// Keys of Options.Images.
const (
	imageRedis     = "redis"
	imageEtcd      = "etcd"
	imageZooKeeper = "zookeeper"
	imagePostgres  = "postgres"
	imageTools     = "tools" // no server: what acts in the network of one
)

// image is what a kind of server runs from.
type image struct {
	key      string
	official string // with its version, from the default registry; empty: there is none
	local    string // what make images builds: the same arguments, ports and environment
}

// images are sorted by key. etcd publishes on registries of its own; the one named here is
// the mirror of that very image on the default registry.
var images = []image{
	{imageEtcd, "rancher/mirrored-coreos-etcd:v3.5.12", "lockbench/etcd"},
	{imagePostgres, "postgres:17", "lockbench/postgres"},
	{imageRedis, "redis:8.2", "lockbench/redis"},
	{imageTools, "", "lockbench/tools"},
	{imageZooKeeper, "zookeeper:3.9", "lockbench/zookeeper"},
}

// Images returns the names of the official images, by key, as they are pulled by default; where there is
// none, that of the one that make images builds.
func Images() map[string]string {
	out := map[string]string{}
	for _, i := range images {
		out[i.key] = cmp.Or(i.official, i.local)
	}
	return out
}

// stallTimeout bounds a pull in which nothing comes: a registry that is there sends
// progress many times a second.
const stallTimeout = 8 * time.Second

// image returns the name of the image for key, which is then present:
// the one asked for > the official one, if it is here > the one of make images, if it is here >
// the official one, pulled.
func (e *engine) image(ctx context.Context, key, asked string, log func(string)) (string, error) {
	i, err := imageOf(key)
	if err != nil {
		return "", err
	}
	name, err := e.present(ctx, i, asked)
	if err != nil || name != "" {
		return name, err
	}
	name = i.candidates(asked)[0]
	log("pulling image " + name)
	if err := pull(ctx, e.cli, name, credentials(ctx, name)); err != nil {
		return "", &Error{fmt.Errorf("image %s is not here and cannot be pulled: %w: %w", name, ErrMissing, err), i.tip(asked)}
	}
	return name, nil
}

// present returns the first candidate that is here; empty: none is.
func (e *engine) present(ctx context.Context, i image, asked string) (string, error) {
	for _, name := range i.candidates(asked) {
		_, err := e.cli.ImageInspect(ctx, name)
		switch {
		case err == nil:
			return name, nil
		case !notFound(err):
			return "", fmt.Errorf("look for image %s: %w", name, err)
		}
	}
	return "", nil
}

// candidates are the names under which an image may be here, the preferred first, which
// is also the one that is pulled.
func (i image) candidates(asked string) []string {
	if asked != "" {
		return []string{hub(asked)}
	}
	if i.official == "" {
		return []string{hub(i.local)}
	}
	return []string{hub(i.official), hub(i.local)}
}

// hub is what testcontainers makes of the name of an image without a registry: it puts the user's
// own registry before it.
func hub(name string) string {
	first, _, ok := strings.Cut(name, "/")
	prefix := os.Getenv("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX")
	if prefix == "" || ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return name
	}
	return path.Join(prefix, name)
}

func (i image) tip(asked string) string {
	if i.official == "" {
		return fmt.Sprintf("make images, or --image %s=NAME", i.key)
	}
	return fmt.Sprintf("make images, or docker pull %s, or --image %s=NAME", i.candidates(asked)[0], i.key)
}

func imageOf(key string) (image, error) {
	var keys []string
	for _, i := range images {
		if i.key == key {
			return i, nil
		}
		keys = append(keys, i.key)
	}
	err := &near.UnknownError{What: "image", Name: key, Near: near.Names(key, keys)}
	return image{}, &Error{err, "images: " + strings.Join(keys, ", ")}
}

// credentials are the user's for an image's registry, as the docker command keeps them; empty: nobody's.
func credentials(ctx context.Context, name string) string {
	_, auth, err := testcontainers.DockerImageAuth(ctx, name)
	if err != nil {
		return ""
	}
	text, err := json.Marshal(auth)
	if err != nil {
		return ""
	}
	return base64.URLEncoding.EncodeToString(text)
}

// pull pulls an image. It gives up when nothing has come for stallTimeout.
func pull(ctx context.Context, cli *client.Client, name, auth string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("nothing came for %s", stallTimeout)) })
	defer stall.Stop()
	why := func(err error) error {
		if c := context.Cause(ctx); c != nil {
			return c
		}
		return err
	}
	r, err := cli.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return why(err)
	}
	for m, err := range r.JSONMessages(ctx) {
		if err == nil && m.Error != nil {
			err = m.Error
		}
		if err != nil {
			return why(err)
		}
		stall.Reset(stallTimeout)
	}
	return why(nil)
}
