package backends

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/testcontainers/testcontainers-go"
)

// TestNoDocker: a Docker that is not there, that does not answer, and a library that panics end in an
// error, by the deadline.
func TestNoDocker(t *testing.T) {
	hang := make(chan struct{})
	for name, newClient := range map[string]func(context.Context) (*testcontainers.DockerClient, error){
		"absent": func(context.Context) (*testcontainers.DockerClient, error) { return nil, errors.New("no socket") },
		"silent": func(context.Context) (*testcontainers.DockerClient, error) {
			<-hang
			return nil, errors.New("too late")
		},
		"panics": func(context.Context) (*testcontainers.DockerClient, error) { panic("a bad session") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang = make(chan struct{})
				ctx, cancel := context.WithTimeout(t.Context(), probeTimeout)
				defer cancel()
				if e, err := dialWith(ctx, newClient); err == nil {
					t.Errorf("got %v, want an error", e)
				}
				close(hang)
			})
		})
	}
}

func TestImageMissing(t *testing.T) {
	i, err := imageOf("redis")
	if err != nil {
		t.Fatal(err)
	}
	if got := i.candidates("mine"); len(got) != 1 || got[0] != "mine" {
		t.Errorf("candidates(mine): got %v, want mine alone", got)
	}
	if tip := i.tip(""); !strings.Contains(tip, "make images, or docker pull "+i.official+", or --image redis=NAME") {
		t.Errorf("tip: got %q", tip)
	}
	t.Setenv("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX", "mirror.example:5000/hub")
	if got := i.candidates("mine"); got[0] != "mirror.example:5000/hub/mine" {
		t.Errorf("candidates(mine) with a registry of the user's own: got %v", got)
	}
	if got := i.candidates("other.example/mine"); got[0] != "other.example/mine" {
		t.Errorf("candidates(other.example/mine): got %v, want it as it is", got)
	}
	_, err = imageOf("redlock")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), "etcd, postgres, redis, tools, zookeeper") {
		t.Errorf("imageOf(redlock): got %v, want an error that lists them", err)
	}
}
