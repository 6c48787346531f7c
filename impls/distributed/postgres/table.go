package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/lock"
)

// store is the table that guarded and optimistic locks keep their values in: one
// row a key, in a schema of the run's own.
type store struct {
	pool  *pool
	names names
	table tableStatements
}

var (
	_ lock.Preparer = (*store)(nil)
	_ lock.Valuer   = (*store)(nil)
)

// create makes schema and table if they are not there. CREATE ... IF NOT EXISTS fails
// if two sessions do it at a time (both see nothing, one meets the other's row
// in the catalogue), so that an advisory lock lets in one after the other. Half of each
// page is left free: an updated row stays on its page and needs no new entry in the
// index (HOT).
func (n names) create(ctx context.Context, pg *pgconn.PgConn) error {
	r := pg.ExecParams(ctx, "SELECT to_regclass($1::text) IS NOT NULL", [][]byte{[]byte(n.table())}, nil, nil, nil).Read()
	if r.Err != nil {
		return fmt.Errorf("look for the table %s: %w", n.table(), r.Err)
	}
	if len(r.Rows) == 1 && string(r.Rows[0][0]) == "t" {
		return nil
	}
	// Statements sent in one query are one transaction, with which the lock ends.
	sql := fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d);
		CREATE SCHEMA IF NOT EXISTS %s;
		CREATE TABLE IF NOT EXISTS %s (
			key text PRIMARY KEY,
			value bigint NOT NULL DEFAULT 0,
			version bigint NOT NULL DEFAULT 0,
			recent bigint[] NOT NULL DEFAULT '{}'
		) WITH (fillfactor = 50)`,
		names{prefix: n.schema}.keyOf("/table"), quote(n.schema), n.table())
	if _, err := pg.Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("create the table %s: %w", n.table(), err)
	}
	return nil
}

// chunk is how many rows are made in one request. Replies to more could fill the
// sockets' buffers, with both sides writing and none reading.
const chunk = 100

// Prepare implements lock.Preparer: makes the keys' rows.
func (s *store) Prepare(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		n := min(chunk, len(keys))
		some := keys[:n]
		err := s.pool.once(ctx, func(c *conn) {
			for _, key := range some {
				c.put(s.table.ensure, c.text(s.names.cell, key))
			}
		}, nil)
		if err != nil {
			return fmt.Errorf("make %d rows: %w", n, err)
		}
		keys = keys[n:]
	}
	return nil
}

// Value implements lock.Valuer. A key without a row has the value 0.
func (s *store) Value(ctx context.Context, key string) (int64, error) {
	var v int64
	err := s.pool.once(ctx,
		func(c *conn) { c.put(s.table.value, c.text(s.names.cell, key)) },
		func(c *conn) { v = c.number(0) })
	if err != nil {
		return 0, fmt.Errorf("read the value of %s: %w", key, err)
	}
	return v, nil
}
