package witness

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lockbench/internal/clock"
)

// Server keeps the stores. Its methods may be called from several goroutines.
type Server struct {
	dir  string
	path string
	l    net.Listener
	// running are the goroutines of the listener and of the connections.
	running sync.WaitGroup

	mu     sync.Mutex
	keys   map[string]*stores
	conns  map[net.Conn]struct{}
	closed bool
}

const (
	// maxPath is the longest path that a socket can have on every Unix, less its final zero
	// (sun_path: 104 bytes on macOS, 108 on Linux).
	maxPath = 103
	// maxConns bounds the connections: some client processes with some actors each need far fewer.
	maxConns = 1024
	// replyLimit ends a connection whose client sends requests and reads no replies. A client that
	// waits for its reply, also a stopped one, has room for it.
	replyLimit = 10 * time.Second
)

// Serve listens on a socket in a new directory in dir ("" = the default for temporary files). The
// directory can be entered by this user only. Close removes it.
func Serve(dir string) (*Server, error) {
	name := "lockbench-w-"
	if dir != "" {
		name = "w" // the caller's directory says whose it is, and a socket's path must be short
	}
	d, err := os.MkdirTemp(dir, name)
	if err != nil {
		return nil, fmt.Errorf("make the witness's directory: %w", err)
	}
	s := &Server{dir: d, path: filepath.Join(d, "s"), keys: map[string]*stores{}, conns: map[net.Conn]struct{}{}}
	if len(s.path) > maxPath {
		err = fmt.Errorf("the path %s has %d bytes, and a socket's may have %d: choose a shorter directory", s.path, len(s.path), maxPath)
	} else {
		s.l, err = net.Listen("unix", s.path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the witness: %w", err), os.Remove(d))
	}
	s.running.Go(s.accept)
	return s, nil
}

// Path is that of the socket, for Dial.
func (s *Server) Path() string { return s.path }

// Dir is the directory that the server has made. Nothing but the socket is in it.
func (s *Server) Dir() string { return s.dir }

// Log returns a copy of what has arrived for the key, in the order of arrival, in which the stores took
// it, too. Stamps never go back in it. It can be read after Close.
func (s *Server) Log(key string) []Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[key]; k != nil {
		return slices.Clone(k.log)
	}
	return nil
}

// Forget removes the key's stores and log. An operation that arrives later makes new ones.
func (s *Server) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}

// Close ends the connections, waits for their goroutines, and removes socket and directory. It may be
// called again.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for c := range s.conns {
		c.Close() // the reason to close it is not its state
	}
	s.mu.Unlock()
	err := s.l.Close() // removes the socket
	s.running.Wait()
	if err := errors.Join(err, os.RemoveAll(s.dir)); err != nil {
		return fmt.Errorf("close the witness: %w", err)
	}
	return nil
}

func (s *Server) accept() {
	for {
		c, err := s.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of file descriptors, or a client that was gone at once.
			time.Sleep(time.Millisecond)
			continue
		}
		s.mu.Lock()
		if s.closed || len(s.conns) >= maxConns {
			s.mu.Unlock()
			c.Close()
			continue
		}
		s.conns[c] = struct{}{}
		s.running.Go(func() { s.serve(c) })
		s.mu.Unlock()
	}
}

// serve answers one connection until it ends. What was wrong with it is the client's to report: it
// sees its end.
func (s *Server) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}()
	in := bufio.NewReaderSize(c, requestBytes+MaxKey)
	var out []byte
	for {
		r, err := readRequest(in)
		if err != nil {
			return
		}
		op, err := s.apply(r)
		if err != nil {
			return
		}
		if err := c.SetWriteDeadline(time.Now().Add(replyLimit)); err != nil {
			return
		}
		out = appendReply(out[:0], op)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// apply does a request. The stamp is taken in the same critical section as the effect, so that the
// order of the stamps is that of the effects.
func (s *Server) apply(r request) (Op, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[r.key]
	if k == nil {
		if len(s.keys) >= MaxKeys {
			return Op{}, fmt.Errorf("%w: %d keys", errFull, MaxKeys)
		}
		k = &stores{}
		s.keys[r.key] = k
	}
	return k.apply(r.op, clock.Shared())
}
