package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/backends"
	"lockbench/internal/engine"
)

// remoteFlags are the flags of distributed locks.
type remoteFlags struct {
	clients, topologies []string
	given, images       []string
	// urls are the servers' URLs as given, passwords included, by service; they go
	// nowhere but to whoever dials.
	urls map[string]string
}

const (
	hintBackend = "for instance --backend redis=redis://127.0.0.1:6379, or --backend redis=tc for a container"
	hintImage   = "for instance --image redis=redis:8.2; images: redis, etcd, zookeeper, postgres, tools"
)

// addRemote adds the flags to those of a spec.
func (f *specFlags) addRemote(cmd *cobra.Command) {
	fs, r, d := f.set, &f.remote, f.base.Remote
	s := &f.spec.Remote
	fs.StringSliceVar(&r.clients, "clients", nil, "distributed: numbers of client processes, each with --workers workers: 1,4 or 1:8 (default 1)")
	fs.DurationVar(&s.TTL, "ttl", d.TTL, "distributed: how long a lease lasts without renewal")
	fs.BoolVar(&s.Renew, "renew", d.Renew, "distributed: renew leases, where the lock can")
	fs.BoolVar(&s.Fence, "fence", d.Fence, "distributed: ask for fencing tokens; they must grow")
	fs.DurationVar(&s.WaitMin, "wait-min", d.WaitMin, "distributed: first delay of a lock that polls; it doubles")
	fs.DurationVar(&s.WaitMax, "wait-max", d.WaitMax, "distributed: longest delay of a lock that polls")
	fs.Float64Var(&s.Jitter, "jitter", d.Jitter, "distributed: share of a delay that is random, 0 to 1")
	fs.DurationVar(&s.AcquireTimeout, "acquire-timeout", d.AcquireTimeout, "distributed: how long an acquisition may wait")
	fs.StringVar(&s.OnTimeout, "on-timeout", d.OnTimeout, "distributed: after that: fail (next operation), retry (the same) or fallback (run the section without the lock)")
	fs.IntVar(&s.Depth, "reentrant", d.Depth, "distributed: acquire the same key so often by the same owner, each inside the other")
	fs.StringSliceVar(&r.topologies, "topology", nil, "distributed: ways to set up the servers: "+strings.Join(topologyNames(), ", "))
	fs.StringArrayVar(&r.given, "backend", nil, "distributed: SERVICE=URL of a server of your own, or SERVICE=tc for containers (the default); may be repeated")
	fs.StringArrayVar(&r.images, "image", nil, "distributed: KEY=NAME, the image of redis, etcd, zookeeper or postgres; may be repeated")
	fs.StringVar(&s.Network, "network", "", "distributed: how containers are reached: host or bridge (default: host where the platform has it)")
	completeWords(cmd, "on-timeout", "fail", "retry", "fallback")
	completeWords(cmd, "network", "host", "bridge")
	completeList(cmd, "topology", topologyNames())
}

func topologyNames() []string {
	var out []string
	for _, t := range backends.Topologies() {
		out = append(out, t.Name)
	}
	return out
}

// setRemote sets what the flags say.
func (f *specFlags) setRemote(s *engine.RemoteSpec) (err error) {
	changed, r := f.set.Changed, &f.remote
	from := &f.spec.Remote
	for name, set := range map[string]func(){
		"ttl": func() { s.TTL = from.TTL }, "renew": func() { s.Renew = from.Renew }, "fence": func() { s.Fence = from.Fence },
		"wait-min": func() { s.WaitMin = from.WaitMin }, "wait-max": func() { s.WaitMax = from.WaitMax },
		"jitter": func() { s.Jitter = from.Jitter }, "acquire-timeout": func() { s.AcquireTimeout = from.AcquireTimeout },
		"on-timeout": func() { s.OnTimeout = from.OnTimeout }, "reentrant": func() { s.Depth = from.Depth },
		"network": func() { s.Network = from.Network }, "topology": func() { s.Topologies = r.topologies },
		// One length for all cells that a user names; without it each kind has its own.
		"duration": func() { s.Duration = f.spec.Duration }, "warmup": func() { s.Warmup = f.spec.Warmup },
	} {
		if changed(name) {
			set()
		}
	}
	if changed("wait-min") && !changed("wait-max") {
		s.WaitMax = max(s.WaitMax, s.WaitMin)
	}
	if changed("clients") {
		if s.Clients, err = parseInts(r.clients); err != nil {
			return usageErr(fmt.Errorf("--clients: %w", err), "numbers, or ranges such as 1:4")
		}
	}
	for _, g := range r.given {
		service, url, err := splitBackend(g)
		if err != nil {
			return usageErr(fmt.Errorf("--backend: %w", err), hintBackend)
		}
		if err := f.setBackend(s, service, url); err != nil {
			return usageErr(fmt.Errorf("--backend: %w", err), hintBackend)
		}
	}
	for _, g := range r.images {
		key, name, ok := strings.Cut(g, "=")
		if !ok || key == "" || name == "" {
			return usageErr(fmt.Errorf("--image: %q: want KEY=NAME", g), hintImage)
		}
		if err := setImage(s, key, name); err != nil {
			return usageErr(fmt.Errorf("--image: %w", err), hintImage)
		}
	}
	return nil
}

// setBackend notes where a service is. The spec, which is kept in the results, gets
// the URL without its password.
func (f *specFlags) setBackend(s *engine.RemoteSpec, service, url string) error {
	if url != "tc" {
		if _, err := backends.ParseURL(service, url); err != nil {
			return err
		}
	}
	if f.remote.urls == nil {
		f.remote.urls = map[string]string{}
	}
	f.remote.urls[service] = url
	kept := map[string]string{service: backends.Scrub(url)}
	for k, v := range s.Backends {
		if k != service {
			kept[k] = v
		}
	}
	s.Backends = kept
	return nil
}

func setImage(s *engine.RemoteSpec, key, name string) error {
	if _, known := backends.Images()[key]; !known {
		return fmt.Errorf("there is no image %q", key)
	}
	kept := map[string]string{key: name}
	for k, v := range s.Images {
		if k != key {
			kept[k] = v
		}
	}
	s.Images = kept
	return nil
}

// schemes are the services of URLs without a name before them.
var schemes = map[string]string{"redis": "redis", "rediss": "redis", "redis-sentinel": "redis", "etcd": "etcd", "etcds": "etcd",
	"zk": "zookeeper", "postgres": "postgres", "postgresql": "postgres"}

// splitBackend splits SERVICE=URL; a URL alone says by its scheme which service it is.
// The error does not repeat what may hold a password.
func splitBackend(s string) (service, url string, err error) {
	if scheme, _, ok := strings.Cut(s, "://"); ok && schemes[scheme] != "" {
		return schemes[scheme], s, nil
	}
	service, url, ok := strings.Cut(s, "=")
	if !ok || service == "" || url == "" {
		return "", "", errors.New("want SERVICE=URL")
	}
	return service, url, nil
}
