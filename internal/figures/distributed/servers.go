package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"lockbench/backends"
	"lockbench/internal/watchdog"
	"lockbench/lock"
)

// servers are those of one topology at a time: what idle servers do in the background
// would be measured with the others.
type servers struct {
	o   backends.Options
	dog *watchdog.Watchdog // nil until something is started
	// program is the lockbench program, which is its own watchdog.
	program string
	at      *backends.Cluster // nil: none
	// seen says what ran, for the document: topology -> facts.
	seen map[string]backends.Facts
}

// watchdogVerb makes the lockbench program the watchdog: what a killed run leaves is removed.
const watchdogVerb = "watchdog"

// closeLimit bounds the removal of servers.
const closeLimit = 30 * time.Second

// open starts a topology of its own, which the caller closes.
func (s *servers) open(ctx context.Context, topology string) (*backends.Cluster, error) {
	if s.dog == nil {
		dog, err := watchdog.Start([]string{s.program, watchdogVerb}, watchdog.Options{})
		if err != nil {
			return nil, err
		}
		s.dog = dog
		s.o.Owner, s.o.Register = dog.Owner().Labels(), dog.Hold
	}
	c, err := backends.Open(ctx, topology, s.o)
	if err == nil {
		s.seen[topology] = c.Facts()
	}
	return c, err
}

// cluster returns the topology, started if it does not run.
func (s *servers) cluster(ctx context.Context, topology string) (*backends.Cluster, error) {
	if s.at != nil && s.at.Facts().Topology == topology {
		return s.at, nil
	}
	if err := s.rest(); err != nil {
		return nil, err
	}
	c, err := s.open(ctx, topology)
	if err != nil {
		return nil, err
	}
	s.at = c
	return c, nil
}

// rest removes what runs.
func (s *servers) rest() error {
	if s.at == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	c := s.at
	s.at = nil
	return c.Close(ctx)
}

// close removes everything.
func (s *servers) close() error {
	err := s.rest()
	if s.dog != nil {
		if derr := s.dog.Close(); err == nil {
			err = derr
		}
		s.dog = nil
	}
	return err
}

// schemes of the URLs that lockbench run --backend takes.
var schemes = map[string]string{
	lock.ServiceRedis: "redis", lock.ServiceEtcd: "etcd", lock.ServiceZooKeeper: "zk", lock.ServicePostgres: "postgres",
}

// given is a cluster as lockbench run --backend takes it. It holds the password, if there
// is one: it is not to be printed.
func given(t lock.Target) (string, error) {
	scheme := schemes[t.Service]
	if scheme == "" || t.TLS != nil || t.Master != "" || len(t.Reach) > 0 {
		return "", fmt.Errorf("%s cannot be given by a URL here", t.Topology)
	}
	u := url.URL{Scheme: scheme, Host: strings.Join(t.Addrs, ",")}
	if t.Password != "" {
		u.User = url.UserPassword(t.User, t.Password)
	}
	if t.Database != "" {
		u.Path = "/" + t.Database
	}
	return t.Service + "=" + u.String(), nil
}
