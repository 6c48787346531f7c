package backends

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockbench/lock"
)

// A primary and its replica, watched by three sentinels of which two must agree. The
// target's addresses are the sentinels'.
var sentinelServer = server{serves: sentinelPing, check: sentinelCheck, version: sentinelVersion, clean: sentinelClean, names: sentinelNames,
	leader: sentinelLeader}

const (
	masterName     = "lockbench" // of the group that the sentinels watch
	sentinels      = 3
	sentinelQuorum = 2
	// downAfter is how long a primary is silent before a sentinel calls it down: short, because
	// leases are. The default of 30 s is longer than any of them.
	downAfterMS = 1000
	// failoverMS bounds a failover; the next try begins after twice that.
	failoverMS = 5000
)

func planSentinel(b *build, _ Topology) []*spec {
	b.target.Master = masterName
	var out []*spec
	first, second := 0, 0
	for i := range 2 {
		name, p := fmt.Sprintf("redis-%d", i+1), b.port()
		args := append(redisArgs(b, p, false), "--replica-announce-ip", b.name(name), "--replica-announce-port", strconv.Itoa(p),
			// Without a backlog a replica that was away copies everything; the default waits 5 s for others to come.
			"--repl-diskless-sync-delay", "0")
		if i == 0 {
			first = p
		} else {
			second = p
			args = append(args, "--replicaof", b.name("redis-1")+" "+strconv.Itoa(first))
		}
		out = append(out, b.clocked(&spec{name: name, cmd: args, publish: []int{p}, addr: b.serve(name, p)}))
	}
	for i := range sentinels {
		name, p := fmt.Sprintf("sentinel-%d", i+1), b.port()
		addr := b.serve(name, p)
		b.target.Addrs = append(b.target.Addrs, addr)
		// A sentinel writes its state into its configuration, so this is a file and not arguments.
		conf := []string{
			"port " + strconv.Itoa(p),
			"bind " + b.bind(),
			"protected-mode no",
			"dir /data",
			"sentinel resolve-hostnames yes",
			"sentinel announce-hostnames yes",
			"sentinel announce-ip " + b.name(name),
			"sentinel announce-port " + strconv.Itoa(p),
			fmt.Sprintf("sentinel monitor %s %s %d %d", masterName, b.name("redis-1"), first, sentinelQuorum),
			// Else it asks the primary, the first time before the replica is there, the next time 10 s later.
			fmt.Sprintf("sentinel known-replica %s %s %d", masterName, b.name("redis-2"), second),
			fmt.Sprintf("sentinel down-after-milliseconds %s %d", masterName, downAfterMS),
			fmt.Sprintf("sentinel failover-timeout %s %d", masterName, failoverMS),
		}
		const path = "/data/sentinel.conf"
		out = append(out, &spec{name: name, publish: []int{p}, addr: addr,
			cmd: []string{"redis-server", path, "--sentinel"}, files: map[string]string{path: strings.Join(conf, "\n") + "\n"}})
	}
	return out
}

// open is the target without what is the data servers' only: sentinels have users of their own,
// and here none.
func open(t lock.Target) lock.Target {
	t.User, t.Password, t.Database = "", "", ""
	return t
}

// isSentinel reports whether an address is a sentinel's.
func isSentinel(t lock.Target, addr string) bool {
	for _, a := range t.Addrs {
		if a == addr {
			return true
		}
	}
	return false
}

func sentinelPing(ctx context.Context, t lock.Target, addr string) error {
	if isSentinel(t, addr) {
		t = open(t)
	}
	return redisPing(ctx, t, addr)
}

func sentinelVersion(ctx context.Context, t lock.Target, addr string) (string, error) {
	if isSentinel(t, addr) {
		t = open(t)
	}
	return redisVersion(ctx, t, addr)
}

// primary asks a sentinel where the primary is, and returns the address at which it is reached.
func primary(ctx context.Context, t lock.Target, sentinel string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := dialable(ctx, sentinel); err != nil {
		return "", err
	}
	var addr string
	err := withRedis(ctx, open(t), sentinel, func(ctx context.Context, c *redis.Client) error {
		at, err := c.Do(ctx, "sentinel", "get-master-addr-by-name", t.Master).StringSlice()
		if err == nil && len(at) != 2 {
			err = errors.New("no answer")
		}
		if errors.Is(err, redis.Nil) {
			err = errors.New("it watches no such group")
		}
		if err != nil {
			return fmt.Errorf("ask sentinel %s for the primary of %q: %w", sentinel, t.Master, err)
		}
		addr = reached(t, at[0]+":"+at[1])
		return nil
	})
	return addr, err
}

// sentinelLeader returns the primary that most sentinels know.
func sentinelLeader(ctx context.Context, t lock.Target, up []string) (string, error) {
	return vote(askAll(ctx, up, func(ctx context.Context, addr string) (string, error) { return primary(ctx, t, addr) }), len(t.Addrs))
}

// sentinelCheck wants all sentinels to know each other, the primary and a replica that
// follows it: before that a failover cannot succeed. Its primary is the one that they agree on.
func sentinelCheck(ctx context.Context, t lock.Target) error {
	at := ""
	for _, s := range t.Addrs {
		addr, err := primary(ctx, t, s)
		if err != nil {
			return err
		}
		if at != "" && at != addr {
			return fmt.Errorf("sentinels disagree: is the primary %s or %s?", at, addr)
		}
		at = addr
		if err := sentinelKnows(ctx, t, s); err != nil {
			return err
		}
	}
	info, err := redisInfo(ctx, t, at, "replication")
	if err != nil {
		return err
	}
	if info["role"] != "master" {
		return fmt.Errorf("the primary at %s says that it is a %s", at, info["role"])
	}
	if !strings.Contains(info["slave0"], "state=online") {
		return fmt.Errorf("the primary at %s has no replica that follows it", at)
	}
	return nil
}

func sentinelKnows(ctx context.Context, t lock.Target, sentinel string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return withRedis(ctx, open(t), sentinel, func(ctx context.Context, c *redis.Client) error {
		got, err := c.Do(ctx, "sentinel", "master", t.Master).StringSlice()
		if err != nil {
			// The answer is a map where the client speaks RESP3.
			m, merr := c.Do(ctx, "sentinel", "master", t.Master).Result()
			if merr != nil {
				return fmt.Errorf("ask sentinel %s about %q: %w", sentinel, t.Master, merr)
			}
			got = pairs(m)
		}
		state := map[string]string{}
		for i := 0; i+1 < len(got); i += 2 {
			state[got[i]] = got[i+1]
		}
		switch {
		case state["flags"] != "master":
			return fmt.Errorf("sentinel %s holds the primary to be %q", sentinel, state["flags"])
		case state["num-other-sentinels"] != strconv.Itoa(len(t.Addrs)-1):
			return fmt.Errorf("sentinel %s knows %s others of %d", sentinel, state["num-other-sentinels"], len(t.Addrs)-1)
		case state["num-slaves"] == "0":
			return fmt.Errorf("sentinel %s knows no replica", sentinel)
		}
		return nil
	})
}

// pairs flattens a map as RESP3 sends it.
func pairs(m any) []string {
	var out []string
	if kv, ok := m.(map[any]any); ok {
		for k, v := range kv {
			out = append(out, fmt.Sprint(k), fmt.Sprint(v))
		}
	}
	return out
}

func sentinelClean(ctx context.Context, t lock.Target, prefix string) (int, error) {
	d, err := primaryTarget(ctx, t)
	if err != nil {
		return 0, err
	}
	return redisClean(ctx, d, prefix)
}

// primaryTarget is the primary alone, as the first sentinel that answers knows it.
func primaryTarget(ctx context.Context, t lock.Target) (lock.Target, error) {
	var errs []error
	for _, s := range t.Addrs {
		addr, err := primary(ctx, t, s)
		if err == nil {
			t.Addrs = []string{addr}
			return t, nil
		}
		errs = append(errs, err)
	}
	return lock.Target{}, errors.Join(errs...)
}
