package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/lock"
)

// ofPrefix reports whether what a client of that application name holds may have been left by the locks of
// a prefix "lockbench/<run id>/<cell>/". Advisory locks are numbers, and say less:
//
//	lockbench/<run id>            the drivers' own: every cell's, since nobody can tell
//	lockbench/<run id>/NAME       likewise
//	lockbench/<run id>/<cell>/... this cell's
//	lockbench/<run id>/x/...      another cell's
//
// A name of 63 bytes has perhaps been cut by the server.
func ofPrefix(prefix, app string) bool {
	parts := strings.SplitN(prefix, "/", 3)
	if len(parts) < 3 { // all runs that begin so
		return strings.HasPrefix(app, prefix)
	}
	run := parts[0] + "/" + parts[1]
	name, within := strings.CutPrefix(app, run+"/")
	if !within {
		return app == run
	}
	const cut = 63
	return !strings.Contains(name, "/") || strings.HasPrefix(app, prefix) || len(app) == cut && strings.HasPrefix(prefix, app)
}

// pgNames lists locks and transactions of backends whose application name is under the run of a prefix.
// What a pooled connection that is idle and holds nothing leaves is nothing.
func pgNames(ctx context.Context, t lock.Target, prefix string) ([]string, error) {
	parts := strings.SplitN(prefix, "/", 3)
	run := strings.Join(parts[:min(2, len(parts))], "/")
	var out []string
	for _, addr := range t.Addrs {
		err := withPG(ctx, t, addr, func(ctx context.Context, c *pgx.Conn) error {
			rows, err := c.Query(ctx, `
				SELECT a.application_name, a.pid, CASE WHEN l.granted THEN 'holds' ELSE 'awaits' END || ' advisory lock ' ||
					CASE l.objsubid WHEN 1 THEN ((l.classid::int8 << 32) | l.objid::int8)::text ELSE l.classid || ',' || l.objid END
				FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE l.locktype = 'advisory' AND starts_with(a.application_name, $1)
				UNION ALL
				SELECT a.application_name, a.pid, 'is in a transaction: ' || a.state
				FROM pg_stat_activity a
				WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid() AND starts_with(a.application_name, $1)`, run)
			if err != nil {
				return fmt.Errorf("ask for locks: %w", err)
			}
			var app, what string
			var pid int
			_, err = pgx.ForEachRow(rows, []any{&app, &pid, &what}, func() error {
				if ofPrefix(prefix, app) {
					out = append(out, fmt.Sprintf("%s %d %s", app, pid, what))
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("ask for locks: %w", err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pgOwn are backends of exactly the application name $1 that are younger than $2 seconds, the age of the cluster's
// handle; never of another's, whatever they call themselves. Both ages are differences of one clock.
const pgOwn = ` FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()
	AND backend_type = 'client backend' AND extract(epoch FROM clock_timestamp() - backend_start) < $2`

// Terminate ends the PostgreSQL sessions of clients that call themselves app (lock.Target.App) and were opened
// after this handle was, and returns their backends' process ids. It is allowed on given servers, too: it
// touches nobody else's. The backends may live for a moment longer: see Backends. Errors of other
// services wrap errors.ErrUnsupported.
func (c *Cluster) Terminate(ctx context.Context, app string) (pids []int, err error) {
	err = c.withOwn(ctx, app, func(ctx context.Context, conn *pgx.Conn, age float64) error {
		rows, err := conn.Query(ctx, "SELECT pid, pg_terminate_backend(pid)"+pgOwn, app, age)
		if err != nil {
			return err
		}
		var pid int
		var sent bool
		_, err = pgx.ForEachRow(rows, []any{&pid, &sent}, func() error {
			if sent { // else it has just ended by itself
				pids = append(pids, pid)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return pids, fmt.Errorf("terminate the backends of %q: %w", app, err)
	}
	return pids, nil
}

// Backends returns how many PostgreSQL sessions Terminate would end.
func (c *Cluster) Backends(ctx context.Context, app string) (n int, err error) {
	err = c.withOwn(ctx, app, func(ctx context.Context, conn *pgx.Conn, age float64) error {
		return conn.QueryRow(ctx, "SELECT count(*)"+pgOwn, app, age).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count the backends of %q: %w", app, err)
	}
	return n, nil
}

// withOwn connects, and says how old the handle is in seconds.
func (c *Cluster) withOwn(ctx context.Context, app string, do func(context.Context, *pgx.Conn, float64) error) error {
	if c.top.Service != lock.ServicePostgres {
		return fmt.Errorf("%w: %s has no backends", errors.ErrUnsupported, c.top.Service)
	}
	if app == "" {
		return errors.New("no application name")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, addr := range c.target.Addrs { // one
		if err := withPG(ctx, c.target, addr, func(ctx context.Context, conn *pgx.Conn) error {
			return do(ctx, conn, time.Since(c.opened).Seconds())
		}); err != nil {
			return err
		}
	}
	return nil
}
