package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"lockbench/lock"
)

// Redis returns a connection of a client of Redis whose commands are counted.
func Redis(c net.Conn, m *lock.Meter) net.Conn {
	if m == nil {
		return c
	}
	var n Counter
	return Watch(c, func(p []byte) { m.Command(n.Count(p)) })
}

// Dial makes a connection to an address that a server announced or a user gave, as
// the target says: by way of Reach, and with TLS if tc is not nil.
func Dial(ctx context.Context, t lock.Target, tc *tls.Config, network, addr string) (net.Conn, error) {
	if to, ok := t.Reach[addr]; ok {
		addr = to
	}
	ctx, cancel := context.WithTimeout(ctx, t.DialTimeout)
	defer cancel()
	var d net.Dialer
	if tc == nil {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", addr, err)
		}
		return c, nil
	}
	c, err := (&tls.Dialer{NetDialer: &d, Config: tc}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s with TLS: %w", addr, err)
	}
	return c, nil
}
