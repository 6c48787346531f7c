package loopback

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// Server is a lock server. Its methods may be called from several goroutines.
type Server struct {
	ln      net.Listener
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	peers  map[*peer]struct{}
	keys   map[string]*key
}

// Listen starts a server on a loopback port of its own.
func Listen() (*Server, error) { return Serve("127.0.0.1:0") }

// Serve starts a server on addr, host:port. There is no password: it must not be
// reachable from elsewhere.
func Serve(addr string) (*Server, error) {
	ln, err := net.Listen("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("start the loopback lock server: %w", err)
	}
	s := &Server{ln: ln, peers: map[*peer]struct{}{}, keys: map[string]*key{}}
	s.running.Add(1)
	go s.accept()
	return s, nil
}

// Addr returns the address that clients dial, host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Clean removes every key that begins with prefix, with its holder, its value and
// its counter, and returns how many there were. Who waits for one gets no answer.
func (s *Server) Clean(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for name, k := range s.keys {
		if strings.HasPrefix(name, prefix) {
			k.stop()
			delete(s.keys, name)
			n++
		}
	}
	return n
}

// Names returns who holds and who waits for the keys that begin with prefix, a line each. A key that is
// free is not among them: its counter stays on purpose.
func (s *Server) Names(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for name, k := range s.keys {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if k.holder != nil {
			out = append(out, fmt.Sprintf("%s held by %x", name, k.holder.owner))
		}
		for _, g := range k.queue {
			out = append(out, fmt.Sprintf("%s awaited by %x", name, g.owner))
		}
	}
	return out
}

// Close ends the server and all connections, and returns when nothing of it
// runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.ln.Close()
	for p := range s.peers {
		p.conn.Close()
	}
	for _, k := range s.keys {
		k.stop()
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

func (s *Server) accept() {
	defer s.running.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return
		}
		p := &peer{s: s, conn: c, out: make(chan answer, maxUnread)}
		s.peers[p] = struct{}{}
		s.running.Add(2)
		s.mu.Unlock()
		go p.write()
		go p.read()
	}
}

// maxUnread is how many answers a client may leave unread; then it is cut off,
// so that it does not keep others waiting.
const maxUnread = 4096

// peer is a connection, and the session of the grants that live as long as it.
type peer struct {
	s    *Server
	conn net.Conn
	out  chan answer // closed when the peer is gone; the server's mutex guards sending
	gone bool
	bye  bool
}

// read serves requests until the connection ends.
func (p *peer) read() {
	defer p.s.running.Done()
	// What was wrong with the connection changes nothing: it is over.
	_ = lines(p.conn, func(r request) bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		if p.s.closed {
			return false
		}
		p.send(p.s.serve(p, r))
		return !p.bye
	})
	p.conn.Close()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.gone = true
	close(p.out)
	delete(p.s.peers, p)
	if !p.s.closed {
		p.s.disconnected(p)
	}
}

// send queues an answer. The caller holds the server's mutex.
func (p *peer) send(a answer) {
	if p.gone {
		return
	}
	select {
	case p.out <- a:
	default:
		p.conn.Close()
	}
}

func (p *peer) write() {
	defer p.s.running.Done()
	for a := range p.out {
		b, err := line(a)
		if err == nil {
			_, err = p.conn.Write(b)
		}
		if err != nil {
			p.conn.Close() // ends read, which closes out
		}
	}
}

// serve carries out a request. The caller holds mu.
func (s *Server) serve(p *peer, r request) answer {
	a := answer{ID: r.ID, State: stOK}
	switch r.Op {
	case opPing:
	case opBye:
		p.bye = true
	case opAcquire:
		if r.Owner == 0 || r.TTL < 0 {
			a.State = stBad
			break
		}
		k := s.key(r.Key)
		a.State, a.Token = k.acquire(p, r), k.fence
	case opRelease:
		if !s.key(r.Key).leave(r.Owner) {
			a.State = stNotHeld
		}
	case opDelete:
		s.key(r.Key).free()
	case opExtend, opApply:
		k := s.key(r.Key)
		switch {
		case k.holder == nil || k.holder.owner != r.Owner:
			a.State = stNotHeld
		case r.Op == opApply:
			k.value += r.Delta
		case r.TTL <= 0:
			a.State = stBad
		default:
			k.hold(k.holder, r.TTL)
		}
	case opValue:
		k := s.key(r.Key)
		a.Value, a.Queue = k.value, len(k.queue)
	default:
		a.State = stBad
	}
	return a
}

func (s *Server) key(name string) *key {
	k := s.keys[name]
	if k == nil {
		k = &key{s: s}
		s.keys[name] = k
	}
	return k
}

// disconnected ends what lived with the connection. The caller holds mu.
func (s *Server) disconnected(p *peer) {
	wait := farewell
	if p.bye {
		wait = 0
	}
	for _, k := range s.keys {
		k.disconnected(p, wait)
	}
}

// farewell is how long the grants of a session outlive its connection, unless its
// client has said good-bye: a holder whose connection is cut learns of it at the same time as
// the server, and must have had the time to stop before the next one gets in.
const farewell = 200 * time.Millisecond
