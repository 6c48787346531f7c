package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"lockbench/lock"
)

// givenTimeout bounds how long given servers may take to answer.
const givenTimeout = 5 * time.Second

// openGiven reaches servers of the user's own.
func openGiven(ctx context.Context, top Topology, raw string, o Options) (*Cluster, error) {
	t, err := ParseURL(top.Service, raw)
	if err != nil {
		return nil, err
	}
	if top.Name == "redis-sentinel" && t.Master == "" {
		return nil, &Error{errors.New("topology redis-sentinel, but the URL names one server"), examples[lock.ServiceRedis]}
	}
	srv := serverOf(t)
	c := &Cluster{
		top:    Topology{Name: t.Topology, Service: t.Service, Nodes: len(t.Addrs), srv: srv},
		o:      o,
		target: t,
		opened: time.Now(),
		facts: Facts{Service: t.Service, Topology: t.Topology, Network: NetworkGiven, Persistence: "unknown",
			Images: map[string]string{}, Nodes: len(t.Addrs)},
	}
	ctx, cancel := context.WithTimeout(ctx, givenTimeout)
	defer cancel()
	err = srv.ready(ctx, t)
	if err == nil && srv.given != nil {
		err = srv.given(ctx, t)
	}
	if err == nil {
		c.facts.Version, err = c.version(ctx)
	}
	if err != nil {
		return nil, explainGiven(t, err)
	}
	return c, nil
}

// serverOf returns the kind of server of a given target.
func serverOf(t lock.Target) *server {
	switch {
	case t.Service == lock.ServiceEtcd:
		return &etcdServer
	case t.Service == lock.ServiceZooKeeper:
		return &zookeeperServer
	case t.Service == lock.ServicePostgres:
		return &postgresServer
	case t.Master != "":
		return &sentinelServer
	}
	return &redisServer
}

// Words of servers that refuse who asks. Redis: WRONGPASS, NOAUTH, NOPERM; etcd:
// rpctypes.ErrAuthFailed, ErrUserEmpty, ErrPermissionDenied; PostgreSQL: SQLSTATE 28P01, 28000, 3D000.
var refusals = []string{"WRONGPASS", "NOAUTH", "NOPERM", "AUTH <password> called", "invalid user ID or password", "user name is empty",
	"permission denied", "authentication failed", "28P01", "28000", "3D000"}

// explainGiven says what may be wrong with a given server. No library that is used here quotes a
// password; should one begin to, it is taken out.
func explainGiven(t lock.Target, err error) error {
	tip := fmt.Sprintf("is it really %s that listens there, and with TLS or without? want %s", t.Service, examples[t.Service])
	text := err.Error()
	var op *net.OpError
	var dns *net.DNSError
	var own *Error
	switch {
	case errors.As(err, &own):
		tip = own.Tip
	case strings.Contains(text, "x509:") || strings.Contains(text, "tls:"):
		tip = "TLS: ca=FILE names the authority, servername= the name in the certificate, insecure=true checks nothing (PostgreSQL: sslmode, sslrootcert)"
	case containsAny(text, refusals):
		tip = "user, password or database is wrong or missing: " + examples[t.Service]
	case errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial":
		tip = "is the server up, and does it listen at that address?"
	}
	return &Error{fmt.Errorf("%s at %s: %w", t.Service, strings.Join(t.Addrs, ","), withoutPassword(err, t.Password)), tip}
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// silenced is an error whose text held a password.
type silenced struct {
	text string
	err  error
}

func (s silenced) Error() string { return s.text }

// Is keeps what callers compare with; Unwrap would hand out the text.
func (s silenced) Is(target error) bool { return errors.Is(s.err, target) }

func withoutPassword(err error, password string) error {
	if password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return silenced{strings.ReplaceAll(err.Error(), password, hidden), err}
}

// CleanURL removes what runs have left on a given server: every name under "lockbench/",
// also those of runs that are under way. It returns how many names were removed (of PostgreSQL: schemas).
func CleanURL(ctx context.Context, service, raw string) (removed int, err error) {
	t, err := ParseURL(service, raw)
	if err != nil {
		return 0, err
	}
	srv := serverOf(t)
	ask, cancel := context.WithTimeout(ctx, givenTimeout)
	defer cancel()
	if err := srv.ready(ask, t); err != nil {
		return 0, explainGiven(t, err)
	}
	removed, err = clean(ctx, srv, t, ours)
	if err != nil {
		return removed, explainGiven(t, err)
	}
	return removed, nil
}
