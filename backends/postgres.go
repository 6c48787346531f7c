package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"lockbench/lock"
)

var postgresServer = server{serves: pgPing, version: pgVersion, clean: pgClean, names: pgNames, given: pgGiven}

// pgConnections is for K client processes with M workers each, each of which may hold
// a connection; the default is 100.
const pgConnections = 1000

func planPostgres(b *build, _ Topology) []*spec {
	const name = "postgres-1"
	p := b.port()
	addr := b.serve(name, p)
	b.target.Addrs = []string{addr}
	b.target.User, b.target.Password, b.target.Database = "lockbench", token(16), "lockbench"
	return []*spec{{name: name, publish: []int{p}, addr: addr,
		env: map[string]string{"POSTGRES_USER": b.target.User, "POSTGRES_PASSWORD": b.target.Password, "POSTGRES_DB": b.target.Database,
			// initdb trusts whoever comes from 127.0.0.1, which on the host's network is everybody here.
			"POSTGRES_INITDB_ARGS": "--auth-host=scram-sha-256"},
		// The settings that decide what a commit costs are said, whatever the image or a library in between
		// would have: testcontainers' own module for PostgreSQL switches fsync off.
		cmd: []string{"postgres", "-c", "listen_addresses=" + b.bind(), "-c", "port=" + strconv.Itoa(p),
			"-c", "fsync=on", "-c", "synchronous_commit=on", "-c", "full_page_writes=on",
			"-c", "max_connections=" + strconv.Itoa(pgConnections)}}}
}

// withPG does something in a connection of its own. The environment (PGHOST and the like) has no say.
func withPG(ctx context.Context, t lock.Target, addr string, do func(context.Context, *pgx.Conn) error) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %s: %w", addr, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("address %s: %w", addr, err)
	}
	cfg, err := pgx.ParseConfig("sslmode=disable host=" + localhost + " user=lockbench passfile=/dev/null")
	if err != nil {
		return fmt.Errorf("connect to %s: %w", addr, err)
	}
	cfg.Host, cfg.Port, cfg.User, cfg.Password, cfg.Database = host, uint16(n), t.User, t.Password, t.Database
	cfg.Fallbacks, cfg.ConnectTimeout = nil, askTimeout
	if cfg.TLSConfig, err = tlsConfig(t.TLS, addr); err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", addr, err)
	}
	defer func() {
		ctx, cancel := apart(ctx)
		defer cancel()
		_ = c.Close(ctx) // nothing is under way
	}()
	return do(ctx, c)
}

func pgPing(ctx context.Context, t lock.Target, addr string) error {
	_, err := pgShow(ctx, t, addr, "server_version")
	return err
}

func pgVersion(ctx context.Context, t lock.Target, addr string) (string, error) {
	v, err := pgShow(ctx, t, addr, "server_version")
	v, _, _ = strings.Cut(v, " ") // then the distribution's
	return v, err
}

func pgShow(ctx context.Context, t lock.Target, addr, setting string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var v string
	err := withPG(ctx, t, addr, func(ctx context.Context, c *pgx.Conn) error {
		if err := c.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&v); err != nil {
			return fmt.Errorf("ask %s for %s: %w", addr, setting, err)
		}
		return nil
	})
	return v, err
}

// pgClean removes what locks made. A run has a schema "lockbench/<run id>", and
// within it, in columns named key, names "<cell>/...".
func pgClean(ctx context.Context, t lock.Target, prefix string) (int, error) {
	n := 0
	var errs []error
	for _, addr := range t.Addrs {
		errs = append(errs, withPG(ctx, t, addr, func(ctx context.Context, c *pgx.Conn) error {
			m, err := pgCleanOne(ctx, c, prefix)
			n += m
			return err
		}))
	}
	return n, errors.Join(errs...)
}

func pgCleanOne(ctx context.Context, c *pgx.Conn, prefix string) (int, error) {
	run, keys, within := strings.Cut(strings.TrimPrefix(prefix, ours), "/")
	if within && keys != "" {
		return pgCleanKeys(ctx, c, ours+run, keys)
	}
	// "lockbench/run/" is one schema, "lockbench/ru" all that begin so.
	var schemas []string
	rows, err := c.Query(ctx, `SELECT nspname FROM pg_namespace
		WHERE nspname = $1 AND $2 OR starts_with(nspname, $1) AND NOT $2 ORDER BY 1`, ours+run, within)
	if err != nil {
		return 0, fmt.Errorf("list schemas: %w", err)
	}
	if schemas, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return 0, fmt.Errorf("list schemas: %w", err)
	}
	for i, s := range schemas {
		if _, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{s}.Sanitize()+" CASCADE"); err != nil {
			return i, fmt.Errorf("drop schema %s: %w", s, err)
		}
	}
	return len(schemas), nil
}

// pgCleanKeys deletes one cell's rows from all tables of a run's schema.
func pgCleanKeys(ctx context.Context, c *pgx.Conn, schema, keys string) (int, error) {
	rows, err := c.Query(ctx, `SELECT table_name FROM information_schema.columns
		WHERE table_schema = $1 AND column_name = 'key' AND data_type = 'text' ORDER BY 1`, schema)
	if err != nil {
		return 0, fmt.Errorf("list tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("list tables: %w", err)
	}
	n := 0
	for _, table := range tables {
		tag, err := c.Exec(ctx, "DELETE FROM "+pgx.Identifier{schema, table}.Sanitize()+" WHERE starts_with(key, $1)", keys)
		if err != nil {
			return n, fmt.Errorf("delete from %s: %w", table, err)
		}
		n += int(tag.RowsAffected())
	}
	return n, nil
}

// pgGiven wants a server that takes writes.
func pgGiven(ctx context.Context, t lock.Target) error {
	for _, addr := range t.Addrs {
		v, err := pgShow(ctx, t, addr, "transaction_read_only")
		if err != nil {
			return err
		}
		if v == "on" {
			return &Error{fmt.Errorf("%s takes no writes", addr), "name the primary"}
		}
	}
	return nil
}
