package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// pool keeps the connections of one client. A connection in which a lock is
// held is not in the pool (npgsql#5592: a pool that takes such a one back gives the
// lock to whoever comes next), and one whose state is in doubt is closed.
type pool struct {
	cfg   *pgconn.Config
	stmts []*statement
	nets  []*statement
	meter *lock.Meter
	keep  int           // idle connections
	dial  time.Duration // bounds one connect

	ticker   ticker
	quitting atomic.Bool   // Close has begun
	quit     chan struct{} // closed by close

	mu      sync.Mutex
	free    []*conn // last in, first out: the warmest first
	all     map[*conn]struct{}
	sockets map[net.Conn]struct{} // of connects and cancel requests, too
	closed  bool
	tidying sync.WaitGroup // rollbacks behind callers' backs
}

func newPool(t lock.Target, n names, stmts []*statement) (*pool, error) {
	cfg, err := configOf(t, n)
	if err != nil {
		return nil, err
	}
	p := &pool{cfg: cfg, stmts: stmts, nets: tryNets(t.TTL), meter: t.Meter, keep: max(1, t.Workers), dial: t.DialTimeout, quit: make(chan struct{}),
		all: map[*conn]struct{}{}, sockets: map[net.Conn]struct{}{}}
	d := &net.Dialer{KeepAliveConfig: keepAlive(t.TTL)}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if to, ok := t.Reach[addr]; ok {
			addr = to
		}
		nc, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return p.track(nc)
	}
	return p, nil
}

var errPoolClosed = errors.New("the client is closed")

// socket is a connection that the pool can cut.
type socket struct {
	net.Conn
	p *pool
}

func (p *pool) track(nc net.Conn) (net.Conn, error) {
	s := &socket{nc, p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = nc.Close()
		return nil, errPoolClosed
	}
	p.sockets[s] = struct{}{}
	return s, nil
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.p.mu.Lock()
	delete(s.p.sockets, s)
	s.p.mu.Unlock()
	return s.Conn.Close()
}

// connect opens a connection and prepares it; first is asked to set up the
// database before (nil: nothing).
func (p *pool) connect(ctx context.Context, first func(context.Context, *pgconn.PgConn) error) (*conn, error) {
	ctx, end := context.WithTimeout(ctx, p.dial)
	defer end()
	p.meter.Command(1)
	pg, err := pgconn.ConnectConfig(ctx, p.cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", hint(err))
	}
	if first != nil {
		if err := first(ctx, pg); err != nil {
			_ = pg.Close(ctx)
			return nil, hint(err)
		}
	}
	h, err := pg.Hijack()
	if err != nil {
		_ = pg.Close(ctx)
		return nil, fmt.Errorf("take over the connection: %w", err)
	}
	c := &conn{pg: pg, net: h.Conn, front: h.Frontend, meter: p.meter, pool: p, state: idle}
	c.keeper.Store(lease.Session())
	c.initWait()
	stop := context.AfterFunc(ctx, c.cut)
	err = c.prepare(append(p.stmts[:len(p.stmts):len(p.stmts)], p.nets...))
	for _, st := range p.nets {
		if err == nil {
			c.put(st)
			// A setting that this system does not have is refused: locks work without.
			if err = c.exchange(nil); code(err) != "" && !fatal(err) {
				err = nil
			}
		}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		p.mu.Lock()
		if p.closed {
			err = errPoolClosed
		} else {
			p.all[c] = struct{}{}
		}
		p.mu.Unlock()
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return c, nil
}

// fill opens as many connections as there will be workers, side by side.
func (p *pool) fill(ctx context.Context, first func(context.Context, *pgconn.PgConn) error) error {
	c, err := p.connect(ctx, first)
	if err != nil {
		return err
	}
	p.give(c)
	errs := make(chan error, p.keep)
	for range p.keep - 1 {
		go func() {
			c, err := p.connect(ctx, nil)
			if err == nil {
				p.give(c)
			}
			errs <- err
		}()
	}
	for range p.keep - 1 {
		err = errors.Join(err, <-errs)
	}
	return err
}

// take returns a connection for the caller alone.
func (p *pool) take(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, errPoolClosed
	}
	return p.connect(ctx, nil)
}

// give takes a connection back that holds nothing. One that is in a transaction
// is rolled back first, while nobody waits.
func (p *pool) give(c *conn) {
	switch {
	case c.broken.Load():
		p.drop(c)
		return
	case c.state != idle:
		p.tidy(c)
		return
	}
	c.used = true
	p.mu.Lock()
	if !p.closed && len(p.free) < p.keep {
		p.free = append(p.free, c)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.drop(c)
}

func (p *pool) tidy(c *conn) {
	started := p.behind(func() {
		ctx, end := context.WithTimeout(context.Background(), cancelGrace)
		defer end()
		c.put(stRollback)
		if err := c.ask(ctx, terms{}); err != nil || c.state != idle {
			c.cut()
		}
		p.give(c)
	})
	if !started {
		p.drop(c)
	}
}

// behind runs f behind the caller's back; close waits for it. false: the pool is closed.
func (p *pool) behind(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tidying.Add(1)
	go func() {
		defer p.tidying.Done()
		f()
	}()
	return true
}

// once sends one request that may be sent twice, on any connection; got reads the
// reply (nil: there is nothing to read). It returns at once when ctx ends, and the
// request is cancelled.
func (p *pool) once(ctx context.Context, put, got func(*conn)) error {
	c, err := p.take(ctx)
	for err == nil {
		put(c)
		err = c.ask(ctx, terms{})
		if errors.Is(err, errLeft) {
			if !p.behind(func() { _ = c.await(true); p.give(c) }) {
				p.drop(c)
			}
			return fmt.Errorf("no reply: %w", ctx.Err()) // nobody else is to await it
		}
		if err == nil {
			if got != nil {
				got(c)
			}
			p.give(c)
			return nil
		}
		stale := c.used && c.broken.Load() && ctx.Err() == nil
		p.give(c)
		if !stale {
			return err
		}
		c, err = p.connect(ctx, nil) // it had ended in the pool
	}
	return err
}

// drop closes a connection.
func (p *pool) drop(c *conn) {
	p.mu.Lock()
	delete(p.all, c)
	p.mu.Unlock()
	c.keeper.Load().Lose()
	c.close()
}

// Quit implements lease.Quitter. Whoever begins to ask after the flag is set sees it; whoever
// has begun before is found among the connections.
func (p *pool) Quit() {
	p.quitting.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.all {
		c.atQuit()
	}
}

// closeGrace bounds how long close waits for what callers left behind: a backend whose wait
// for a lock is not cancelled goes on with it for a second.
const closeGrace = time.Second

// close ends all connections, and so all locks.
func (p *pool) close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
	}
	p.mu.Unlock()
	tidied := make(chan struct{})
	go func() { p.tidying.Wait(); close(tidied) }()
	t := time.NewTimer(closeGrace)
	defer t.Stop()
	select {
	case <-tidied:
	case <-t.C:
	}
	p.mu.Lock()
	var all []*conn
	for c := range p.all {
		all = append(all, c)
	}
	p.all, p.free = map[*conn]struct{}{}, nil
	p.mu.Unlock()
	for _, c := range all {
		c.keeper.Load().Lose()
		c.close()
	}
	p.mu.Lock()
	rest := make([]net.Conn, 0, len(p.sockets))
	for s := range p.sockets {
		rest = append(rest, s)
	}
	p.mu.Unlock()
	for _, s := range rest {
		_ = s.Close()
	}
	<-tidied
	return nil
}
