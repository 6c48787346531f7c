package wire

import (
	"net"
	"syscall"
)

// Counter counts the commands of the Redis protocol in a stream of requests that
// is cut anywhere: arrays of bulk strings, one a command, as every client library
// sends them (https://redis.io/docs/latest/develop/reference/protocol-spec/).
//
//	head --"*<n>\r\n"--> bulk (n to come); n = 0: head
//	bulk --"$<len>\r\n"--> body (len + 2 bytes to come)
//	body --they have come--> bulk, or head after the last one: a command
//
// What is not of that form (an inline command) counts as one a line.
type Counter struct {
	state int
	num   int // the number being read
	args  int // bulk strings to come
	skip  int // bytes of the body to come
	star  bool
}

// maxBulk is the server's limit of a bulk string, 512 MB (proto-max-bulk-len).
const maxBulk = 512 << 20

const (
	head = iota
	bulk
	body
)

// Count reads the next bytes and returns how many commands end in them.
func (c *Counter) Count(p []byte) int64 {
	var n int64
	for i := 0; i < len(p); {
		if c.state == body {
			step := min(c.skip, len(p)-i)
			c.skip -= step
			i += step
			if c.skip > 0 {
				return n
			}
			if c.args--; c.args == 0 {
				n++
				c.state = head
			} else {
				c.state = bulk
			}
			c.num = 0
			continue
		}
		b := p[i]
		i++
		switch {
		case b >= '0' && b <= '9':
			c.num = min(c.num*10+int(b-'0'), maxBulk)
		case b == '*' && c.state == head:
			c.star, c.num = true, 0
		case b == '\n' && c.state == head && !c.star:
			n++
			c.num = 0
		case b == '\n' && c.state == head:
			c.star = false
			if c.args = c.num; c.args > 0 {
				c.state = bulk
			}
			c.num = 0
		case b == '\n':
			c.skip, c.state = c.num+len("\r\n"), body
		}
	}
	return n
}

// Conn is a connection whose writes are looked at before they are made.
type Conn struct {
	net.Conn
	sent func([]byte)
}

var _ net.Conn = (*Conn)(nil)

// Watch returns a connection that calls sent with what is about to be written,
// one write at a time.
func Watch(c net.Conn, sent func([]byte)) net.Conn {
	w := &Conn{c, sent}
	if sc, ok := c.(syscall.Conn); ok {
		return raw{w, sc}
	}
	return w
}

// raw is a connection that shows its socket, as the one below does: go-redis looks
// there whether an idle connection is still up.
type raw struct {
	*Conn
	socket
}

type socket = syscall.Conn

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.sent(p)
	return c.Conn.Write(p)
}
