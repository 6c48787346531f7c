package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/lock"
)

// etcdMinTTL is ceil(1.5 x election timeout) in seconds, the least that the lessor grants
// (server/etcdserver: minTTL), with the election timeout of 1 s that etcd has by default, here too.
const etcdMinTTL = 2 * time.Second

var etcdServer = server{serves: etcdServes, answers: etcdAnswers, leader: etcdLeader, version: etcdVersion, clean: etcdClean, names: etcdNames,
	lowest: etcdMinTTL}

// planEtcd gives all four kinds of URL, since what is not given listens on localhost at a
// port that another may have, or announces it.
func planEtcd(b *build, top Topology) []*spec {
	type member struct {
		name         string
		client, peer int
	}
	var members []member
	var initial []string
	for i := range top.Nodes {
		m := member{fmt.Sprintf("etcd-%d", i+1), b.port(), b.port()}
		members = append(members, m)
		initial = append(initial, m.name+"=http://"+hostPort(b.name(m.name), m.peer))
	}
	var out []*spec
	cluster := token(4)
	for _, m := range members {
		addr := b.serve(m.name, m.client)
		b.target.Addrs = append(b.target.Addrs, addr)
		out = append(out, &spec{name: m.name, publish: []int{m.client}, addr: addr, cmd: []string{
			"/usr/local/bin/etcd", "--name", m.name, "--data-dir", "/var/lib/etcd",
			"--listen-client-urls", "http://" + hostPort(b.bind(), m.client),
			"--advertise-client-urls", "http://" + hostPort(b.name(m.name), m.client),
			"--listen-peer-urls", "http://" + hostPort(b.bind(), m.peer),
			"--initial-advertise-peer-urls", "http://" + hostPort(b.name(m.name), m.peer),
			"--initial-cluster", strings.Join(initial, ","), "--initial-cluster-state", "new",
			"--initial-cluster-token", cluster, "--log-level", "warn"}})
	}
	return out
}

// withEtcd does something through some of the servers. No Sync: what members announce
// may not be reachable from here.
func withEtcd(ctx context.Context, t lock.Target, addrs []string, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cfg, err := tlsConfig(t.TLS, addrs[0])
	if err != nil {
		return err
	}
	// The client would go on trying until ctx ends, and then say no more than that.
	for _, addr := range addrs {
		if err = dialable(ctx, addr); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: askTimeout, TLS: cfg,
		Username: t.User, Password: t.Password, Context: ctx, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", strings.Join(addrs, ","), err)
	}
	defer func() { _ = c.Close() }() // nothing is under way
	return do(ctx, c)
}

func etcdStatus(ctx context.Context, t lock.Target, addr string) (*clientv3.StatusResponse, error) {
	var s *clientv3.StatusResponse
	err := withEtcd(ctx, t, []string{addr}, func(ctx context.Context, c *clientv3.Client) (err error) {
		if s, err = c.Status(ctx, addr); err != nil {
			return fmt.Errorf("ask %s for its status: %w", addr, err)
		}
		return nil
	})
	return s, err
}

// etcdServes wants a leader, and a read that a majority confirms.
func etcdServes(ctx context.Context, t lock.Target, addr string) error {
	return withEtcd(ctx, t, []string{addr}, func(ctx context.Context, c *clientv3.Client) error {
		s, err := c.Status(ctx, addr)
		if err != nil {
			return fmt.Errorf("ask %s for its status: %w", addr, err)
		}
		if s.Leader == 0 {
			return fmt.Errorf("%s: %w", addr, errors.New("it has no leader"))
		}
		if _, err := c.Get(ctx, ours, clientv3.WithCountOnly()); err != nil {
			return fmt.Errorf("read from %s: %w", addr, err)
		}
		return nil
	})
}

// etcdAnswers wants its status, which it tells without a leader, too.
func etcdAnswers(ctx context.Context, t lock.Target, addr string) error {
	_, err := etcdStatus(ctx, t, addr)
	return err
}

// etcdLeader asks each member whom it follows. A leader that is cut off goes on naming itself for a
// while, but has no majority.
func etcdLeader(ctx context.Context, t lock.Target, up []string) (string, error) {
	return vote(askAll(ctx, up, func(ctx context.Context, addr string) (string, error) { return etcdFollows(ctx, t, addr) }), len(t.Addrs))
}

// etcdFollows returns the address of the one that a member follows; empty: of none.
func etcdFollows(ctx context.Context, t lock.Target, addr string) (string, error) {
	leader := ""
	err := withEtcd(ctx, t, []string{addr}, func(ctx context.Context, c *clientv3.Client) error {
		s, err := c.Status(ctx, addr)
		if err != nil {
			return fmt.Errorf("ask %s for its status: %w", addr, err)
		}
		// By its own knowledge: a member that has lost the majority cannot confirm it.
		members, err := c.MemberList(ctx, clientv3.WithSerializable())
		if err != nil {
			return fmt.Errorf("ask %s for the members: %w", addr, err)
		}
		for _, m := range members.Members {
			if m.ID == s.Leader && len(m.ClientURLs) > 0 {
				leader = reached(t, strings.TrimPrefix(m.ClientURLs[0], "http://"))
			}
		}
		return nil
	})
	return leader, err
}

func etcdVersion(ctx context.Context, t lock.Target, addr string) (string, error) {
	s, err := etcdStatus(ctx, t, addr)
	if err != nil {
		return "", err
	}
	return s.Version, nil
}

func etcdClean(ctx context.Context, t lock.Target, prefix string) (int, error) {
	n := 0
	err := withEtcd(ctx, t, t.Addrs, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Delete(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		n = int(r.Deleted)
		return nil
	})
	return n, err
}
