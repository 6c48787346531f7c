package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// conn is one connection, and so one backend of the server. One goroutine uses
// it at a time; only wake, cut and the watch are called from others.
//
// It is taken over from pgconn once it is set up (Hijack) and speaks the
// extended protocol itself, in what two short statements need: Bind and Execute
// for each, one Sync, one write. That is one system call to send and one to
// receive a round trip, no Describe, and no memory from the heap.
type conn struct {
	pg    *pgconn.PgConn // knows how to send a cancel request
	net   net.Conn
	front *pgproto3.Frontend
	meter *lock.Meter
	pool  *pool
	watch watch

	out     []byte // the request that is being put together
	scratch []byte // its arguments
	bind    pgproto3.Bind
	sent    int64 // statements in out

	// Of the last reply:
	state byte     // of the transaction: 'I' idle, 'T' in one, 'E' in one that failed
	rows  int      // of the last statement
	row   []byte   // the last row's columns, one behind the other
	cols  [][]byte // slices of row; nil: NULL
	tag   []byte   // of the last statement: "COMMIT"
	// Of a reply that has not been read to its end:
	pending bool
	failed  error // what the server has said so far

	wait   wait
	keeper atomic.Pointer[lease.Keeper] // of the leases that live in the session
	used   bool                         // has been in the pool: perhaps ended unnoticed
	broken atomic.Bool                  // not to be used again
	closed atomic.Bool
}

// Bytes of ReadyForQuery (the manual: Message Formats).
const (
	idle     = 'I'
	inBlock  = 'T'
	inFailed = 'E'
)

// exchange sends the request and waits for its reply. The error is the
// server's (*pgconn.PgError), of which a fatal one has ended the session, or that of
// a connection that broke: nobody knows then what the server did.
func (c *conn) exchange(t *lock.Trace) error {
	c.out, _ = (&pgproto3.Sync{}).Encode(c.out)
	c.meter.Command(c.sent)
	t.Trip()
	_, err := c.net.Write(c.out)
	c.out, c.scratch, c.sent = c.out[:0], c.scratch[:0], 0
	c.rows, c.cols, c.tag, c.failed = 0, c.cols[:0], c.tag[:0], nil
	if err == nil {
		return c.receive()
	}
	// A server that ended the session has perhaps told why.
	_ = c.net.SetReadDeadline(time.Now().Add(lastWords))
	if told := c.receive(); fatal(told) {
		return told
	}
	c.broken.Store(true)
	return fmt.Errorf("send: %w", err)
}

// lastWords bounds the wait for the reason after a failed write. It has been received
// by then, or never will be.
const lastWords = 100 * time.Millisecond

// receive reads until the server is ready again, or the caller is woken.
func (c *conn) receive() error {
	c.pending = false
	for {
		m, err := c.front.Receive()
		if err != nil {
			if c.pending = errors.Is(err, os.ErrDeadlineExceeded) && c.wasWoken(); c.pending {
				return errLeft
			}
			c.broken.Store(true)
			if c.failed != nil {
				return c.failed // the server says why, and hangs up
			}
			return fmt.Errorf("receive: %w", err)
		}
		switch m := m.(type) {
		case *pgproto3.BindComplete:
			c.rows, c.tag = 0, c.tag[:0]
		case *pgproto3.DataRow:
			c.keep(m.Values)
		case *pgproto3.CommandComplete:
			c.tag = append(c.tag[:0], m.CommandTag...)
		case *pgproto3.ErrorResponse:
			if c.failed == nil {
				c.failed = pgconn.ErrorResponseToPgError(m)
			}
		case *pgproto3.ReadyForQuery:
			c.state = m.TxStatus
			return c.failed
		}
	}
}

// keep copies a row, whose memory the next message takes.
func (c *conn) keep(values [][]byte) {
	c.rows++
	c.row, c.cols = c.row[:0], c.cols[:0]
	for _, v := range values {
		c.row = append(c.row, v...)
	}
	at := 0
	for _, v := range values {
		if v == nil {
			c.cols = append(c.cols, nil)
			continue
		}
		c.cols = append(c.cols, c.row[at:at+len(v)])
		at += len(v)
	}
}

// yes reports whether the reply is one row that begins with true.
func (c *conn) yes() bool {
	return c.rows == 1 && len(c.cols) > 0 && len(c.cols[0]) == 1 && c.cols[0][0] == 1
}

// number returns an int8 column of the reply; 0 if there is none.
func (c *conn) number(i int) int64 {
	if i >= len(c.cols) || len(c.cols[i]) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(c.cols[i]))
}

// prepare makes the statements known to the backend, in one round trip.
func (c *conn) prepare(sts []*statement) error {
	for _, st := range sts {
		out, err := (&pgproto3.Parse{Name: st.name, Query: st.sql}).Encode(c.out)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", st.name, err)
		}
		c.out = out
		c.sent++
	}
	if err := c.exchange(nil); err != nil {
		return fmt.Errorf("prepare statements: %w", err)
	}
	return nil
}

// cut ends the connection without a word; from any goroutine. What runs on it fails.
func (c *conn) cut() {
	c.broken.Store(true)
	_ = c.net.Close()
}

// close ends the connection politely. The backend ends by itself as soon as it
// reads this; one whose server stands still reads it later.
func (c *conn) close() {
	if c.closed.Swap(true) {
		return
	}
	if !c.broken.Swap(true) {
		_ = c.net.SetWriteDeadline(time.Now().Add(lastWords))
		out, _ := (&pgproto3.Terminate{}).Encode(nil)
		_, _ = c.net.Write(out)
	}
	_ = c.net.Close()
}

// fatal reports whether the error is the server's word that the session has ended.
func fatal(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	return e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" ||
		e.SeverityUnlocalized == "" && (e.Severity == "FATAL" || e.Severity == "PANIC")
}

// code returns the SQLSTATE of a server's error, or "".
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
