package zkrecipe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/wire"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// client is a lease.Client that knows the shortest TTL.
type client struct {
	*lease.Client
	t lock.Target
}

var _ lock.MinTTL = (*client)(nil)

// MinTTL implements lock.MinTTL: it asks for a session of a millisecond, which the
// server stretches to minSessionTimeout (2 ticks by default), and closes it. The
// library does not tell what was negotiated.
func (c *client) MinTTL(ctx context.Context) (time.Duration, error) {
	tc, err := tlsfile.Config(c.t.TLS, "")
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, addr := range c.t.Addrs {
		conn, err := wire.Dial(ctx, c.t, tc, "tcp", addr)
		if err == nil {
			var d time.Duration
			_ = conn.SetDeadline(time.Now().Add(c.t.DialTimeout))
			c.t.Meter.Command(2)
			d, err = shortest(conn)
			_ = conn.Close()
			if err == nil {
				return d, nil
			}
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("negotiate a session with ZooKeeper: %w", errors.Join(errs...))
}

// shortest greets: protocol version 0, last zxid seen 0, the timeout in ms, session id
// 0 and a password of 16 zeros. The answer is the version, the timeout, and more.
func shortest(rw io.ReadWriter) (time.Duration, error) {
	greeting := make([]byte, 4+44)
	binary.BigEndian.PutUint32(greeting, 44)
	binary.BigEndian.PutUint32(greeting[16:], 1)
	binary.BigEndian.PutUint32(greeting[28:], 16)
	if _, err := rw.Write(greeting); err != nil {
		return 0, fmt.Errorf("send the greeting: %w", err)
	}
	answer := make([]byte, 4+8)
	if _, err := io.ReadFull(rw, answer); err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	bye := make([]byte, 4+8) // xid 0, kind -11: close the session
	binary.BigEndian.PutUint32(bye, 8)
	binary.BigEndian.PutUint32(bye[8:], ^uint32(10))
	if _, err := rw.Write(bye); err != nil {
		return 0, fmt.Errorf("close the session: %w", err)
	}
	return time.Duration(binary.BigEndian.Uint32(answer[8:])) * time.Millisecond, nil
}
