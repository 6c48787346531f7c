package zookeeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/lock"
)

// dial connects to the server that calls itself addr.
func (d *driver) dial(ctx context.Context, addr string) (net.Conn, error) {
	to := addr
	if at, ok := d.t.Reach[addr]; ok {
		to = at
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil || d.tls == nil {
		return c, err
	}
	cfg := d.tls
	if cfg.ServerName == "" {
		// The name that the server announces is the one in its certificate.
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		cfg = cfg.Clone()
		cfg.ServerName = host
	}
	secure := tls.Client(c, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return secure, nil
}

// hosts hands go-zookeeper the servers' addresses one after the other. The library's own
// provider resolves names once and for all, and makes it sleep for a second
// after each round over the servers, also before the first attempt to reach a
// single server again, of which a session of two seconds cannot afford one.
type hosts struct {
	addrs []string
	tried int // since the last connection
	at    int
	ended <-chan struct{}
}

var _ zk.HostProvider = (*hosts)(nil)

// pace is the pause after a round over all servers.
const pace = 50 * time.Millisecond

// Init implements zk.HostProvider. The library has shuffled the addresses, so that
// clients spread over the servers.
func (h *hosts) Init(servers []string) error {
	h.addrs = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int { return len(h.addrs) }

// Next implements zk.HostProvider. A "start of a new round" makes the library give up the
// requests that wait for a connection, sleep, and look whether it was closed: it is told
// of one only when it shall find that.
func (h *hosts) Next() (server string, retryStart bool) {
	if h.tried >= len(h.addrs) {
		h.tried = 0
		t := time.NewTimer(pace)
		defer t.Stop()
		select {
		case <-t.C:
		case <-h.ended:
		}
	}
	h.tried++
	h.at = (h.at + 1) % len(h.addrs)
	select {
	case <-h.ended:
		return h.addrs[h.at], true
	default:
		return h.addrs[h.at], false
	}
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() { h.tried = 0 }

// quiet is a zk.Logger that says nothing: what the library logs comes back as errors.
type quiet struct{}

// Printf implements zk.Logger.
func (quiet) Printf(string, ...any) {}

// Sizes and offsets in the first packet of each side, which opens or resumes a
// session (ConnectRequest, ConnectResponse in zookeeper.jute), its length included.
const (
	timeoutAt  = 8  // in the response: length, protocol version, then the timeout in ms
	timeoutEnd = 12 // and then the session's id
	requestLen = 44 // version, last zxid, timeout, session, password of 16 bytes with its length
)

// link is one connection of a session. It learns from the first packets what the
// library keeps to itself: when the session was asked for and which timeout the
// server granted. It also counts the requests: the library writes each at once.
type link struct {
	net.Conn
	meter  *lock.Meter
	within time.Duration // for the first packets
	// Of the first packets, which the library exchanges before it starts the
	// goroutines that read and write.
	sent   time.Time
	head   []byte
	answer func(sent time.Time, timeout time.Duration, err error)
	// created is told the path of each create that has been written.
	created func(path []byte)
}

// Write implements net.Conn.
func (l *link) Write(b []byte) (int, error) {
	if l.sent.IsZero() {
		l.sent = time.Now()
	}
	l.meter.Command(1)
	n, err := l.Conn.Write(b)
	if path := createPath(b); path != nil {
		l.created(path)
	}
	return n, err
}

// createPath returns the path in a create request, or nil: length, xid, operation, then
// the path with its length (RequestHeader, CreateRequest in zookeeper.jute).
func createPath(b []byte) []byte {
	const opAt, lengthAt, pathAt, opCreate = 8, 12, 16, 1
	if len(b) < pathAt || binary.BigEndian.Uint32(b[opAt:]) != opCreate {
		return nil
	}
	end := pathAt + uint64(binary.BigEndian.Uint32(b[lengthAt:]))
	if end > uint64(len(b)) {
		return nil // the packet that opens a session, in which other things stand there
	}
	return b[pathAt:end]
}

// Read implements net.Conn.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if len(l.head) < timeoutEnd {
		l.head = append(l.head, b[:min(n, timeoutEnd-len(l.head))]...)
		switch {
		case len(l.head) == timeoutEnd:
			l.answer(l.sent, milliseconds(l.head[timeoutAt:]), nil)
		case err != nil:
			l.answer(l.sent, 0, err)
		}
	}
	return n, err
}

// SetReadDeadline implements net.Conn. The library waits for the first packet 6.7 times as
// long as a session lasts; a server that accepts connections and does not
// answer must not cost more than the attempt at one.
func (l *link) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(l.within); len(l.head) < timeoutEnd && (t.IsZero() || t.After(latest)) {
		t = latest
	}
	return l.Conn.SetReadDeadline(t)
}

// shortest opens a session with a timeout of 1 ms, reads what it was lengthened to, and closes it.
func (d *driver) shortest(ctx context.Context, addr string) (time.Duration, error) {
	c, err := d.dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()

	req := binary.BigEndian.AppendUint32(nil, requestLen)
	req = append(req, make([]byte, 4+8)...)                 // version, last zxid seen
	req = binary.BigEndian.AppendUint32(req, 1)             // timeout
	req = append(req, make([]byte, 8)...)                   // a new session
	req = binary.BigEndian.AppendUint32(req, 16)            // its password,
	req = append(req, make([]byte, 16)...)                  // none yet
	bye := binary.BigEndian.AppendUint32(nil, 8)            // length
	bye = binary.BigEndian.AppendUint32(bye, 1)             // xid
	bye = binary.BigEndian.AppendUint32(bye, ^uint32(11)+1) // closeSession
	d.t.Meter.Command(2)
	if _, err := c.Write(req); err != nil {
		return 0, fmt.Errorf("open a session: %w", err)
	}
	var head [timeoutEnd]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, fmt.Errorf("open a session: %w", err)
	}
	// The session would end by itself very soon; an error of its end is none of the caller's.
	if _, err := c.Write(bye); err == nil {
		_, _ = io.Copy(io.Discard, c) // the server closes after its answer
	}
	return milliseconds(head[timeoutAt:]), nil
}

func milliseconds(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(b)) * time.Millisecond
}
