package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// statement is one prepared statement, of the same name on each connection.
type statement struct {
	name, sql string
}

// Statements that do not depend on a table. BEGIN and its like are prepared,
// too: the server then parses nothing on the way.
var (
	stBegin      = &statement{"begin", "BEGIN"}
	stCommit     = &statement{"commit", "COMMIT"}
	stRollback   = &statement{"rollback", "ROLLBACK"}
	stSavepoint  = &statement{"savepoint", "SAVEPOINT lockbench"}
	stRollbackTo = &statement{"rollback-to", "ROLLBACK TO SAVEPOINT lockbench"}

	stLock      = &statement{"lock", "SELECT pg_advisory_lock($1::int8)"}
	stTryLock   = &statement{"try-lock", "SELECT pg_try_advisory_lock($1::int8)"}
	stUnlock    = &statement{"unlock", "SELECT pg_advisory_unlock($1::int8)"}
	stUnlockAll = &statement{"unlock-all", "SELECT pg_advisory_unlock_all()"}
	stXactLock  = &statement{"xact-lock", "SELECT pg_advisory_xact_lock($1::int8)"}
	stTryXact   = &statement{"try-xact-lock", "SELECT pg_try_advisory_xact_lock($1::int8)"}
)

var stTransaction = []*statement{stBegin, stCommit, stRollback, stSavepoint, stRollbackTo}

// tableStatements are those of one schema's table. Its column named key holds "<cell>/<key>".
type tableStatements struct {
	// rows: lock one row; no row: it is not there, or SKIP LOCKED passed it over.
	lock, lockNow, lockSkip *statement
	add                     *statement // $1 key, $2 delta; of a row that is there and locked
	upsert                  *statement // the same for a row that may be missing
	ensure                  *statement // $1 key
	value                   *statement // $1 key
	read                    *statement // $1 key: value and version
	whose                   *statement // $1 key, $2 version: the operation that made the version after it, or 0
	write                   *statement // $1 key, $2 version, $3 value, $4 operation
}

// The 32 below is how many operations a row remembers: see version.go.
func statementsFor(table string) tableStatements {
	of := func(name, sql string) *statement {
		return &statement{name, strings.ReplaceAll(sql, "TABLE", table)}
	}
	return tableStatements{
		lock:     of("row", "SELECT 1 FROM TABLE WHERE key = $1::text FOR UPDATE"),
		lockNow:  of("row-nowait", "SELECT 1 FROM TABLE WHERE key = $1::text FOR UPDATE NOWAIT"),
		lockSkip: of("row-skip", "SELECT 1 FROM TABLE WHERE key = $1::text FOR UPDATE SKIP LOCKED"),
		add:      of("add", "UPDATE TABLE SET value = value + $2::int8 WHERE key = $1::text RETURNING 1"),
		upsert: of("upsert", "INSERT INTO TABLE AS t (key, value) VALUES ($1::text, $2::int8)"+
			" ON CONFLICT (key) DO UPDATE SET value = t.value + excluded.value RETURNING 1"),
		// A row that is there must not be run into: even ON CONFLICT DO NOTHING waits for a transaction that updates it.
		ensure: of("ensure", "INSERT INTO TABLE (key) SELECT $1::text WHERE NOT EXISTS (SELECT 1 FROM TABLE WHERE key = $1::text)"+
			" ON CONFLICT (key) DO NOTHING"),
		value: of("value", "SELECT value FROM TABLE WHERE key = $1::text"),
		read:  of("read", "SELECT value, version FROM TABLE WHERE key = $1::text"),
		whose: of("whose", "SELECT CASE WHEN version - $2::int8 BETWEEN 1 AND 32"+
			" THEN recent[(version - $2::int8)::int] ELSE 0 END FROM TABLE WHERE key = $1::text"),
		write: of("write", "UPDATE TABLE SET value = $3::int8, version = version + 1,"+
			" recent = (array[$4::int8] || recent)[1:32] WHERE key = $1::text AND version = $2::int8 RETURNING 1"),
	}
}

// binaryFormat asks for parameters and results in binary: no text is made of numbers.
var binaryFormat = []int16{1}

// put adds a statement to the request that is being put together. Arguments are
// in binary; they are copied.
func (c *conn) put(st *statement, args ...[]byte) {
	c.bind.PreparedStatement = st.name
	c.bind.Parameters = append(c.bind.Parameters[:0], args...)
	c.bind.ParameterFormatCodes, c.bind.ResultFormatCodes = binaryFormat, binaryFormat
	// Encode fails for messages of gigabytes only, which names of keys are not.
	c.out, _ = c.bind.Encode(c.out)
	c.out, _ = (&pgproto3.Execute{}).Encode(c.out)
	c.sent++
}

// int8 returns a number as PostgreSQL's int8, valid until the request is sent.
func (c *conn) int8(v int64) []byte {
	n := len(c.scratch)
	for shift := 56; shift >= 0; shift -= 8 {
		c.scratch = append(c.scratch, byte(uint64(v)>>shift))
	}
	return c.scratch[n:]
}

// text returns the parts of a text in one, valid until the request is sent.
func (c *conn) text(parts ...string) []byte {
	n := len(c.scratch)
	for _, s := range parts {
		c.scratch = append(c.scratch, s...)
	}
	return c.scratch[n:]
}
