package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/backends"
	"lockbench/internal/engine"
	"lockbench/internal/watchdog"
	"lockbench/lock"
	"lockbench/results"
)

// servers are those of one run; engine.Servers over package backends.
//
//	none --Up--> up --Close--> gone
type servers struct {
	o      backends.Options
	prefix string // of all names of the run

	mu sync.Mutex
	up map[engine.Topology]*backends.Cluster
}

var _ engine.Servers = (*servers)(nil)

// newServers prepares to bring up what a run needs. urls hold passwords.
func newServers(runID string, s engine.RemoteSpec, urls map[string]string, log io.Writer) *servers {
	var mu sync.Mutex
	return &servers{prefix: "lockbench/" + runID + "/", up: map[engine.Topology]*backends.Cluster{}, o: backends.Options{
		RunID: runID, Given: urls, Images: s.Images, Network: s.Network,
		Log: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(log, "lockbench: "+line)
		},
	}}
}

// topologies are what the engine knows of them, each service's default first.
func topologies() []engine.Topology {
	var out []engine.Topology
	for _, t := range backends.Topologies() {
		out = append(out, engine.Topology{Name: t.Name, Service: t.Service, Nodes: t.Nodes})
	}
	slices.SortStableFunc(out, func(a, b engine.Topology) int {
		return boolInt(backends.DefaultTopology(b.Service) == b.Name) - boolInt(backends.DefaultTopology(a.Service) == a.Name)
	})
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Up implements engine.Servers.
func (s *servers) Up(ctx context.Context, want []engine.Topology) map[engine.Topology]error {
	bad := map[engine.Topology]error{}
	var wg sync.WaitGroup
	for _, t := range want {
		wg.Go(func() {
			name := t.Name
			if name == engine.GivenTopology {
				name = backends.DefaultTopology(t.Service)
			}
			c, err := backends.Open(ctx, name, s.o)
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				bad[t] = &serverError{err}
				return
			}
			s.up[t] = c
		})
	}
	wg.Wait()
	return bad
}

// serverError is a server that could not be had. Where only some cells need it, its
// text is why they are skipped, and says the remedy, too.
type serverError struct{ error }

func (e *serverError) Unwrap() error { return e.error }

// Hint is the remedy, if the cause knows one.
func (e *serverError) Hint() string { return hintOf(e.error, "see: lockbench env") }

// raise brings up the servers that the plan's cells need; close removes them, and is
// never nil.
func (a *app) raise(ctx context.Context, r *engine.Runner, p *engine.Plan, runID string, urls map[string]string) (close func() error, err error) {
	close = func() error { return nil }
	if !slices.ContainsFunc(p.Cells, func(c *engine.Cell) bool { return c.Place != nil && c.Skip == "" && !c.Lock.Control }) {
		return close, nil
	}
	self, err := os.Executable()
	if err != nil {
		return close, &runtimeError{fmt.Errorf("find this program's own file: %w", err)}
	}
	// Before the first container or child: what comes is removed even if we are killed.
	dog, err := watchdog.Start([]string{self, watchdogVerb}, watchdog.Options{})
	if err != nil {
		return close, &runtimeError{err}
	}
	s := newServers(runID, p.Spec.Remote, urls, a.env.Stderr)
	s.o.Owner, s.o.Register = dog.Owner().Labels(), dog.Hold
	if s.needsDocker(p) {
		// What earlier runs left that were killed together with their watchdog.
		if gone, err := watchdog.Sweep(ctx, ""); err == nil && len(gone) > 0 {
			s.o.Log(fmt.Sprintf("removed what dead runs had left: %s", strings.Join(gone, ", ")))
		}
	}
	r.Servers, r.Hold, r.HoldPath = s, dog.HoldProcess, func(path string) (func(), error) { return dog.Hold(watchdog.KindPath, path) }
	close = func() error {
		if err := errors.Join(s.Close(), dog.Close()); err != nil {
			return &runtimeError{fmt.Errorf("remove the servers: %w", err)}
		}
		return nil
	}
	err = r.Raise(ctx, p)
	var usage *engine.UsageError
	if err != nil && !errors.As(err, &usage) {
		err = &runtimeError{err}
	}
	return close, err
}

// needsDocker reports whether some cell's servers are to be containers.
func (s *servers) needsDocker(p *engine.Plan) bool {
	return slices.ContainsFunc(p.Cells, func(c *engine.Cell) bool {
		return c.Place != nil && c.Skip == "" && !c.Lock.Control && c.Place.Topology.Name != engine.GivenTopology && c.Place.Topology.Service != lock.ServiceLoopback
	})
}

func (s *servers) cluster(t engine.Topology) *backends.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up[t]
}

// At implements engine.Servers.
func (s *servers) At(t engine.Topology) (lock.Target, results.Remote) {
	c := s.cluster(t)
	target, f := c.Target(), c.Facts()
	target.Prefix = s.prefix
	var images []string
	for _, k := range slices.Sorted(maps.Keys(f.Images)) {
		images = append(images, f.Images[k])
	}
	topology := t.Name
	if f.Network == backends.NetworkGiven && f.Topology != "" { // what the URL says
		topology = f.Topology
	}
	return target, results.Remote{Service: f.Service, Topology: topology, Network: f.Network, ServerVersion: f.Version,
		Persistence: f.Persistence, Image: strings.Join(images, " ")}
}

// MinTTL implements engine.Servers.
func (s *servers) MinTTL(t engine.Topology) time.Duration {
	if c := s.cluster(t); c != nil {
		return c.Facts().MinTTL
	}
	return 0
}

// Check implements engine.Servers.
func (s *servers) Check(ctx context.Context, t engine.Topology) error { return s.cluster(t).Check(ctx) }

// CPU implements engine.Servers.
func (s *servers) CPU(ctx context.Context, t engine.Topology) (time.Duration, bool) {
	return s.cluster(t).CPU(ctx)
}

// closeLimit bounds the removal of all that a run has left on servers.
const closeLimit = 30 * time.Second

// Close removes the run's names from servers that stay, and the servers that were
// brought up. It works after an interrupt.
func (s *servers) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(s.up))
	var wg sync.WaitGroup
	for i, t := range slices.Collect(maps.Keys(s.up)) {
		c := s.up[t]
		wg.Go(func() {
			if len(c.Nodes()) == 0 {
				errs[i] = c.Clean(ctx, s.prefix)
			}
			errs[i] = errors.Join(errs[i], c.Close(ctx))
		})
	}
	wg.Wait()
	clear(s.up)
	return errors.Join(errs...)
}
