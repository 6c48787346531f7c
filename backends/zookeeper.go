package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/lock"
)

// zkTick is ZooKeeper's unit of time. The default of 2 s would make 4 s the
// shortest session.
const zkTick = 500 * time.Millisecond

// Sessions are between 2 and 20 ticks (administrator's guide: minSessionTimeout, maxSessionTimeout).
var zookeeperServer = server{serves: zkServes, answers: zkAnswers, leader: zkLeader, version: zkVersion, clean: zkClean, names: zkNames,
	lowest: 2 * zkTick, highest: 20 * zkTick}

// Limits in ticks: to connect to a leader and copy its data, on a machine that
// does much else; to be behind it (the guide's examples: 10 and 5).
const (
	zkInitLimit = 40
	zkSyncLimit = 5
)

// zkHeapMB is plenty for some thousand nodes of some bytes; by default each server takes 1000.
const zkHeapMB = 256

func planZooKeeper(b *build, top Topology) []*spec {
	type member struct {
		name                   string
		client, quorum, leader int
	}
	var members []member
	var list []string
	for i := range top.Nodes {
		m := member{fmt.Sprintf("zookeeper-%d", i+1), b.port(), b.port(), b.port()}
		members = append(members, m)
		list = append(list, fmt.Sprintf("server.%d=%s:%d:%d;%s", i+1, b.name(m.name), m.quorum, m.leader, hostPort(b.bind(), m.client)))
	}
	var out []*spec
	for i, m := range members {
		addr := b.serve(m.name, m.client)
		b.target.Addrs = append(b.target.Addrs, addr)
		out = append(out, &spec{name: m.name, publish: []int{m.client}, addr: addr, cmd: []string{"zkServer.sh", "start-foreground"},
			env: map[string]string{
				"ZOO_MY_ID":   strconv.Itoa(i + 1),
				"ZOO_SERVERS": strings.Join(list, " "),
				// A server alone needs no election.
				"ZOO_STANDALONE_ENABLED": "true",
				"ZOO_TICK_TIME":          strconv.FormatInt(zkTick.Milliseconds(), 10),
				"ZOO_INIT_LIMIT":         strconv.Itoa(zkInitLimit),
				"ZOO_SYNC_LIMIT":         strconv.Itoa(zkSyncLimit),
				"ZOO_MAX_CLIENT_CNXNS":   "0", // no limit: all clients come from one address
				// Both would listen on all addresses.
				"ZOO_ADMINSERVER_ENABLED": "false",
				"JMXDISABLE":              "true",
				// A server that is started while it is cut off from its peers has no such address, and would end.
				"ZOO_CFG_EXTRA":  "quorumListenOnAllIPs=" + strconv.FormatBool(b.network != NetworkHost),
				"ZK_SERVER_HEAP": strconv.Itoa(zkHeapMB),
				"JVMFLAGS":       fmt.Sprintf("-Xmx%dm", zkHeapMB),
			}})
	}
	return out
}

// zkAsk sends one of the words of four letters. srvr is the one that every server answers
// unless told otherwise (administrator's guide: 4lw.commands.whitelist).
func zkAsk(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("reach %s: %w", addr, err)
	}
	defer func() { _ = c.Close() }() // the answer is read to its end
	if at, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(at); err != nil {
			return "", fmt.Errorf("ask %s: %w", addr, err)
		}
	}
	if _, err := io.WriteString(c, word); err != nil {
		return "", fmt.Errorf("ask %s: %w", addr, err)
	}
	text, err := io.ReadAll(io.LimitReader(c, 64<<10))
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", addr, err)
	}
	if len(text) == 0 {
		return "", fmt.Errorf("ask %s: %w", addr, io.ErrUnexpectedEOF)
	}
	return string(text), nil
}

// zkServes wants a role: a server that looks for a leader has none.
func zkServes(ctx context.Context, _ lock.Target, addr string) error {
	text, err := zkAsk(ctx, addr, "srvr")
	if err != nil {
		return err
	}
	if zkField(text, "Mode") == "" {
		return fmt.Errorf("%s does not serve: %s", addr, strings.TrimSpace(text))
	}
	return nil
}

// zkAnswers takes any answer: one without a leader says that it does not serve.
func zkAnswers(ctx context.Context, _ lock.Target, addr string) error {
	_, err := zkAsk(ctx, addr, "srvr")
	return err
}

// zkLeader asks each member for its role. A leader that is cut off keeps its role for up to syncLimit ticks; the epoch,
// the upper half of the transaction number, tells it from the next.
func zkLeader(ctx context.Context, t lock.Target, up []string) (string, error) {
	type role struct {
		addr, mode string
		epoch      uint64
	}
	roles := askAll(ctx, up, func(ctx context.Context, addr string) (role, error) {
		text, err := zkAsk(ctx, addr, "srvr")
		if err != nil {
			return role{}, err
		}
		// One without a role says no number.
		zxid, _ := strconv.ParseUint(strings.TrimPrefix(zkField(text, "Zxid"), "0x"), 16, 64)
		return role{addr, zkField(text, "Mode"), zxid >> 32}, nil
	})
	serving, first := 0, role{}
	for _, r := range roles {
		if r.mode != "" {
			serving++
		}
		if r.mode == "leader" && (first.addr == "" || r.epoch > first.epoch) {
			first = r
		}
	}
	if 2*serving <= len(t.Addrs) || first.addr == "" {
		return "", fmt.Errorf("%w: of %d members %d serve: %v", ErrNoLeader, len(t.Addrs), serving, roles)
	}
	return first.addr, nil
}

func zkVersion(ctx context.Context, _ lock.Target, addr string) (string, error) {
	text, err := zkAsk(ctx, addr, "srvr")
	if err != nil {
		return "", err
	}
	v, _, _ := strings.Cut(zkField(text, "Zookeeper version"), "-") // then the build
	if v == "" {
		return "", fmt.Errorf("%s does not say its version: %s", addr, strings.TrimSpace(text))
	}
	return v, nil
}

func zkField(text, name string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

type zkSilent struct{}

func (zkSilent) Printf(string, ...any) {}

// zkSession is how long the sessions of questions may live on when they are not closed.
const zkSession = 4 * time.Second

// withZK does something in a session of its own.
func withZK(ctx context.Context, t lock.Target, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect(t.Addrs, zkSession, zk.WithLogger(zkSilent{}), zk.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	dial, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		select {
		case e := <-events:
			if e.State == zk.StateAuthFailed {
				return errors.New("authentication failed")
			}
			if e.State != zk.StateHasSession {
				continue
			}
		case <-dial.Done():
			return fmt.Errorf("no session with %s: %w", strings.Join(t.Addrs, ","), dial.Err())
		}
		break
	}
	if t.User != "" {
		if err := c.AddAuth("digest", []byte(t.User+":"+t.Password)); err != nil {
			return fmt.Errorf("authenticate: %w", err)
		}
	}
	return do(c)
}

// zkClean removes the nodes whose paths begin with a slash and prefix, with all below, and those
// above that are empty then.
func zkClean(ctx context.Context, t lock.Target, prefix string) (int, error) {
	n := 0
	err := withZK(ctx, t, func(c *zk.Conn) error {
		parent, base := path.Split("/" + prefix)
		parent = strings.TrimSuffix(parent, "/")
		names, _, err := c.Children(parent)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", parent, err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, base) {
				m, err := zkRemove(ctx, c, parent+"/"+name)
				if n += m; err != nil {
					return err
				}
			}
		}
		for p := parent; p != "/"; p = path.Dir(p) {
			switch err := c.Delete(p, -1); {
			case err == nil:
				n++
			case errors.Is(err, zk.ErrNotEmpty):
				return nil // others live there
			case !errors.Is(err, zk.ErrNoNode):
				return fmt.Errorf("delete %s: %w", p, err)
			}
		}
		return nil
	})
	return n, err
}

// zkRemove removes a node and all below it.
func zkRemove(ctx context.Context, c *zk.Conn, p string) (int, error) {
	n := 0
	for ctx.Err() == nil {
		names, _, err := c.Children(p)
		if errors.Is(err, zk.ErrNoNode) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("list %s: %w", p, err)
		}
		for _, name := range names {
			m, err := zkRemove(ctx, c, p+"/"+name)
			if n += m; err != nil {
				return n, err
			}
		}
		switch err := c.Delete(p, -1); {
		case err == nil:
			return n + 1, nil
		case errors.Is(err, zk.ErrNoNode):
			return n, nil
		case !errors.Is(err, zk.ErrNotEmpty): // a child that came meanwhile: again
			return n, fmt.Errorf("delete %s: %w", p, err)
		}
	}
	return n, ctx.Err()
}
