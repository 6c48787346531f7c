package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// maxName is the longest identifier that PostgreSQL keeps (NAMEDATALEN - 1, in
// bytes); it cuts longer ones off without an error.
const maxName = 63

// names are what a target's prefix "lockbench/<run id>/<cell>/" becomes.
type names struct {
	schema string // "lockbench/<run id>", also the application_name
	cell   string // "<cell>/": keys of rows begin with it
	prefix string // all of it: names of advisory locks begin with it
}

func namesOf(prefix string) (names, error) {
	parts := strings.SplitN(prefix, "/", 3)
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return names{}, fmt.Errorf("prefix %q: want lockbench/<run id>/<cell>/", prefix)
	}
	n := names{schema: parts[0] + "/" + parts[1], cell: parts[2], prefix: prefix}
	if len(n.schema) > maxName || strings.ContainsRune(n.schema, 0) {
		return names{}, fmt.Errorf("prefix %q: the schema's name would be longer than %d bytes", prefix, maxName)
	}
	return n, nil
}

// table returns the qualified, quoted name of the schema's table.
func (n names) table() string { return quote(n.schema) + ".keys" }

func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

// Safety nets on the server, for when this process is gone and nobody has told.
//
// A lock is held for as long as the server believes in the session. With Linux's
// defaults that is 2 h 11 min for a peer that has vanished while idle, and 15 min
// with data on the way. Here both are found out after vanished(TTL): see below.
// A waiter is found out while it waits, where client_connection_check_interval exists
// (from version 14 on, and not on all systems): it looks once a second whether the socket has failed.
// lock_timeout bounds each wait even so; one that reaches it is begun again. Statements
// here wait for nothing but locks, so that a statement_timeout would add nothing but
// a timer for each statement.
//
// idle_in_transaction_session_timeout and idle_session_timeout are left as the
// server has them: they end a holder that thinks for long (25P03, 57P05), which is its
// operator's policy; the holder learns of it by Lost.
func nets(ttl time.Duration) map[string]string {
	beat := strconv.Itoa(int(beatOf(ttl) / time.Second))
	return map[string]string{
		"lock_timeout":            "60s",
		"tcp_keepalives_idle":     beat,
		"tcp_keepalives_interval": beat,
		"tcp_keepalives_count":    strconv.Itoa(beats - 1),
	}
}

// tryNets are those that not every version and system has, one statement each.
func tryNets(ttl time.Duration) []*statement {
	return []*statement{
		tryNet("client_connection_check_interval", "1s"),
		tryNet("tcp_user_timeout", strconv.FormatInt(vanished(ttl).Milliseconds(), 10)),
	}
}

func tryNet(name, value string) *statement {
	return &statement{name, fmt.Sprintf("SELECT set_config('%s', '%s', false) WHERE current_setting('%[1]s', true) IS NOT NULL", name, value)}
}

// A session has no TTL, but a cell has one: as long as a lease of it would last may a peer be silent
// that has vanished (no FIN, no RST). TCP counts in whole seconds:
//
//	beat     = TTL / 3, rounded up to a second; 1 s to 7 s
//	vanished = 3 beats: the first probe after one without a word from the peer, two more, then the end
//
// So 3 s for a TTL of up to 3 s, 12 s for 10 s, 21 s from 18 s on. tcp_user_timeout is the same time for data that the peer does not
// acknowledge; on Linux it ends probes, too (tcp(7)), at the same moment. A peer that is stopped, not
// gone, is answered for by its kernel, and a proxy in between answers for itself.
const (
	beats   = 3
	minBeat = time.Second
	maxBeat = 7 * time.Second
)

func beatOf(ttl time.Duration) time.Duration {
	return min(max((ttl/beats+time.Second-1).Truncate(time.Second), minBeat), maxBeat)
}

// vanished is how long either side takes to find out that the other has vanished.
func vanished(ttl time.Duration) time.Duration { return beats * beatOf(ttl) }

// keepAlive is this side's.
func keepAlive(ttl time.Duration) net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: beatOf(ttl), Interval: beatOf(ttl), Count: beats - 1}
}

// configOf makes pgconn's configuration. Nothing of the environment (PGHOST,
// PGOPTIONS, password files) has a say.
func configOf(t lock.Target, n names) (*pgconn.Config, error) {
	if len(t.Addrs) != 1 {
		return nil, fmt.Errorf("PostgreSQL: %d addresses, want 1", len(t.Addrs))
	}
	host, port, err := net.SplitHostPort(t.Addrs[0])
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL's address: %w", err)
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil || p == 0 {
		return nil, fmt.Errorf("PostgreSQL's address %s: port %q is not a number from 1 to 65535", t.Addrs[0], port)
	}
	// A Config has to come from ParseConfig; all that matters is set below.
	cfg, err := pgconn.ParseConfig("host=localhost port=5432 user=postgres password=none dbname=postgres sslmode=disable" +
		" target_session_attrs=any sslnegotiation=postgres require_auth='' channel_binding=prefer")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL's configuration: %w", err)
	}
	cfg.Host, cfg.Port = host, uint16(p)
	cfg.User, cfg.Password, cfg.Database = t.User, t.Password, t.Database
	if cfg.User == "" {
		cfg.User = "postgres"
	}
	if cfg.Database == "" {
		cfg.Database = cfg.User
	}
	cfg.Fallbacks, cfg.ValidateConnect, cfg.AfterConnect = nil, nil, nil
	cfg.ConnectTimeout = 0 // the context has it
	app := n.schema
	if t.App != "" {
		app = t.App
	}
	if len(app) > maxName { // the server would cut it
		return nil, fmt.Errorf("PostgreSQL: application name %q is longer than %d bytes", app, maxName)
	}
	cfg.RuntimeParams = map[string]string{
		"application_name": app,
		// A row that changed while it was waited for must be read anew, not refused (40001).
		"default_transaction_isolation": "read committed",
		"default_transaction_read_only": "off",
	}
	maps.Copy(cfg.RuntimeParams, nets(t.TTL))
	// Addresses are looked up when they are dialled, by names that may be mapped.
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	if cfg.TLSConfig, err = tlsfile.Config(t.TLS, host); err != nil {
		return nil, err
	}
	return cfg, nil
}
