package watchdog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// testImage is any image whose default command keeps running; see images/README.md.
const testImage = "lockbench/redis"

// dockerTime guards against an engine that hangs.
const dockerTime = 2 * time.Minute

// needDocker skips the test without Docker or the image, unless they are required.
func needDocker(t *testing.T) *client.Client {
	t.Helper()
	cli, err := client.New(client.FromEnv)
	if err == nil {
		t.Cleanup(func() { _ = cli.Close() })
		ctx, cancel := context.WithTimeout(t.Context(), dockerTime)
		defer cancel()
		_, err = cli.ImageInspect(ctx, testImage)
	}
	if err == nil {
		return cli
	}
	if os.Getenv("LOCKBENCH_REQUIRE_DOCKER") == "1" {
		t.Fatalf("LOCKBENCH_REQUIRE_DOCKER is set: %v", err)
	}
	t.Skipf("no Docker with the image %s (make images): %v", testImage, err)
	return nil
}

// makeContainer makes one that has no network, with the labels.
func makeContainer(ctx context.Context, cli *client.Client, name string, labels map[string]string) error {
	_, err := cli.ContainerCreate(ctx, client.ContainerCreateOptions{Name: name,
		Config:     &container.Config{Image: testImage, Labels: labels},
		HostConfig: &container.HostConfig{NetworkMode: "none"}})
	return err
}

// dockerParent holds and makes containers and a network, and waits to be killed. What it makes has names
// that begin with prefix.
func dockerParent(prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerTime)
	defer cancel()
	cli, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	w, err := Start([]string{os.Args[0], "watchdog"}, Options{Stderr: os.Stderr})
	if err != nil {
		return err
	}
	if err := w.UseDocker(cli.DaemonHost()); err != nil {
		return err
	}
	for _, state := range []string{"made", "runs", "paused", "attached"} {
		name := prefix + state
		if _, err := w.Hold(KindContainer, name); err != nil {
			return err
		}
		if err := makeContainer(ctx, cli, name, w.Owner().Labels()); err != nil {
			return err
		}
		if state == "made" {
			continue
		}
		if state == "attached" {
			if _, err := w.Hold(KindNetwork, prefix+"net"); err != nil {
				return err
			}
			if _, err := cli.NetworkCreate(ctx, prefix+"net", client.NetworkCreateOptions{Driver: "bridge", Labels: w.Owner().Labels()}); err != nil {
				return err
			}
			if _, err := cli.NetworkDisconnect(ctx, "none", client.NetworkDisconnectOptions{Container: name}); err != nil {
				return err
			}
			if _, err := cli.NetworkConnect(ctx, prefix+"net", client.NetworkConnectOptions{Container: name}); err != nil {
				return err
			}
		}
		if _, err := cli.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
			return err
		}
		if state == "paused" {
			if _, err := cli.ContainerPause(ctx, name, client.ContainerPauseOptions{}); err != nil {
				return err
			}
		}
	}
	// The last is being made while the parent is killed.
	if _, err := w.Hold(KindContainer, prefix+"late"); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(w.Owner().String()); err != nil {
		return err
	}
	if err := makeContainer(ctx, cli, prefix+"late", nil); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestKilledParentsContainers(t *testing.T) {
	cli := needDocker(t)
	prefix := "lockbench-watchdog-" + strings.ToLower(rand.Text()[:8]) + "-"
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	c := exec.Command(os.Args[0], "docker-parent", prefix)
	c.Stderr = w
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Start(), w.Close(), r.SetReadDeadline(time.Now().Add(dockerTime+2*cleanTime))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweepNames(t, cli, prefix) })
	var owner string
	told := json.NewDecoder(stdout).Decode(&owner)
	killed := c.Process.Kill()
	said, err := io.ReadAll(r) // until parent and watchdog have ended
	_ = c.Wait()               // killed
	if err := errors.Join(told, killed, err); err != nil || len(said) > 0 {
		t.Fatalf("%v; said %q", err, said)
	}
	for _, state := range []string{"made", "runs", "paused", "attached", "late"} {
		if _, err := cli.ContainerInspect(t.Context(), prefix+state, client.ContainerInspectOptions{}); !errdefs.IsNotFound(err) {
			t.Errorf("container %s: got %v, want it gone", state, err)
		}
	}
	if _, err := cli.NetworkInspect(t.Context(), prefix+"net", client.NetworkInspectOptions{}); !errdefs.IsNotFound(err) {
		t.Errorf("network: got %v, want it gone", err)
	}
}

// sweepNames is for a failed test: nothing stays behind.
func sweepNames(t *testing.T, cli *client.Client, prefix string) {
	ctx, cancel := context.WithTimeout(context.Background(), dockerTime)
	defer cancel()
	all, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("name", prefix)})
	if err != nil {
		t.Error(err)
	}
	for _, c := range all.Items {
		if _, err := cli.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	}
	if _, err := cli.NetworkRemove(ctx, prefix+"net", client.NetworkRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
		t.Error(err)
	}
}

func TestSweepInDocker(t *testing.T) {
	cli := needDocker(t)
	prefix := "lockbench-watchdog-" + strings.ToLower(rand.Text()[:8]) + "-"
	t.Cleanup(func() { sweepNames(t, cli, prefix) })
	ctx, cancel := context.WithTimeout(t.Context(), dockerTime)
	defer cancel()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dead, elsewhere := self, self
	dead.Start++
	elsewhere.Machine, elsewhere.Start = "elsewhere", self.Start+1
	for name, labels := range map[string]map[string]string{"dead": dead.Labels(), "living": self.Labels(), "elsewhere": elsewhere.Labels(), "nobodys": nil} {
		if err := makeContainer(ctx, cli, prefix+name, labels); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cli.NetworkCreate(ctx, prefix+"net", client.NetworkCreateOptions{Driver: "bridge", Labels: dead.Labels()}); err != nil {
		t.Fatal(err)
	}
	removed, err := Sweep(ctx, "")
	if err != nil {
		t.Error(err)
	}
	// Others' remains may have been removed too.
	removed = slices.DeleteFunc(removed, func(s string) bool { return !strings.Contains(s, prefix) })
	if want := []string{"container " + prefix + "dead", "network " + prefix + "net"}; !slices.Equal(removed, want) {
		t.Errorf("removed %v, want %v", removed, want)
	}
	for _, name := range []string{"living", "elsewhere", "nobodys"} {
		if _, err := cli.ContainerInspect(ctx, prefix+name, client.ContainerInspectOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Sweep(ctx, "unix:///does/not/exist"); err == nil {
		t.Error("no engine: no error")
	}
}

// dockerParentMain is the process.
func dockerParentMain() int {
	err := dockerParent(os.Args[2])
	fmt.Fprintln(os.Stderr, "parent:", err)
	return 8
}
