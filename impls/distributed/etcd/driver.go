package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// driver implements lease.Inline.
type driver struct {
	c           *servers
	meter       *lock.Meter
	prefix      string
	dialTimeout time.Duration
	bg          *group
	names       names
	requests    requests

	// done ends when the driver is closed. Requests carry the metadata of leader: a
	// member that has no leader then refuses at once, instead of waiting for one. Those of an
	// acquisition are made with asking, which ends earlier, with Quit.
	done, leader, asking context.Context
	quit, stopAsking     context.CancelFunc

	mu     sync.Mutex
	shared map[int64]*slot    // sessions, by TTL in seconds
	leases map[int64]struct{} // that exist, or may
}

var (
	_ lease.Inline  = (*driver)(nil)
	_ lease.Quitter = (*driver)(nil)
	_ lease.Applier = (*driver)(nil)
)

// newDriver connects and makes the session of t.TTL.
func newDriver(ctx context.Context, t lock.Target) (*driver, error) {
	ctx, cancel := context.WithTimeout(ctx, t.DialTimeout)
	defer cancel()
	d := &driver{
		meter: t.Meter, prefix: t.Prefix, dialTimeout: t.DialTimeout, bg: &group{},
		shared: map[int64]*slot{}, leases: map[int64]struct{}{}, names: newNames(),
	}
	var err error
	if d.c, err = dial(t, d.bg); err != nil {
		return nil, err
	}
	d.done, d.quit = context.WithCancel(context.Background())
	d.leader = clientv3.WithRequireLeader(context.Background())
	d.asking, d.stopAsking = context.WithCancel(d.leader)
	for err = d.c.seek(ctx); errors.Is(err, errNoLeader) && ctx.Err() == nil; err = d.c.seek(ctx) {
		d.pause(ctx, 100*time.Millisecond)
	}
	if err == nil {
		_, err = d.session(ctx, t.TTL)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Names on the server. A key's queue is the keys below its directory; what
// is kept beside the queues has no slash behind the prefix, so that neither can be
// taken for the other, whatever a key is called.
var escape = strings.NewReplacer("%", "%25", "/", "%2F")

func (d *driver) queue(key string) string    { return d.prefix + escape.Replace(key) + "/" }
func (d *driver) valueKey(key string) string { return d.prefix + escape.Replace(key) + "#value" }
func (d *driver) sessionKey(id int64) string { return fmt.Sprintf("%s#%x", d.prefix, id) }

// names are the numbers that make the names of members unique within their client, whose id makes
// them unique among clients. A number is used again once the key is surely gone and no
// request about it is under way: etcd's index keeps deleted names until the next compaction,
// and a queue is read by walking through all of them. With a new name for each acquisition
// one of them took twice as long after some ten thousand.
type names struct {
	id   string
	mu   sync.Mutex
	free []uint64
	last uint64
}

func newNames() names { return names{id: rand.Text()} }

// take returns a number that nobody has.
func (n *names) take() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := len(n.free) - 1; i >= 0 {
		x := n.free[i]
		n.free = n.free[:i]
		return x
	}
	n.last++
	return n.last
}

func (n *names) give(x uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.free = append(n.free, x)
}

// member returns the key of a member of a queue.
func (n *names) member(queue string, x uint64) string {
	return queue + n.id + "/" + strconv.FormatUint(x, 16)
}

// Inline implements lease.Inline.
func (d *driver) Inline() {}

// Quit implements lease.Quitter.
func (d *driver) Quit() { d.stopAsking() }

// left returns why an acquisition is to be given up: its caller has left, or Close has
// begun; nil: it goes on.
func (d *driver) left(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.asking.Err() != nil {
		return lease.ErrClosed
	}
	return nil
}

// txn sends one transaction to the server that is asked now, and waits at most for step.
func (d *driver) txn(caller, base context.Context, step time.Duration, cmps []clientv3.Cmp, then, els []clientv3.Op) (*clientv3.TxnResponse, error) {
	s, i := d.c.current()
	q := d.begin(caller, base, step)
	r, err := s.kv.Txn(q.ctx).If(cmps...).Then(then...).Else(els...).Commit()
	err = d.end(q, err)
	d.judge(caller, base, i, step, err)
	return r, err
}

// judge takes note of a server that did not do its work, unless it was the caller or
// Close who ended the request.
func (d *driver) judge(caller, base context.Context, i int32, step time.Duration, err error) {
	if err != nil && caller.Err() == nil && base.Err() == nil && (!refused(err) || passing(err)) {
		d.c.failed(d.done, i, 4*step)
	}
}

// refused reports whether a request was surely not carried out, by the server's own word.
// An answer that is missing, or that comes from the connection, says nothing.
func refused(err error) bool {
	if errors.Is(err, rpctypes.ErrNoLeader) {
		return true // said before the request is passed on to anybody
	}
	var e rpctypes.EtcdError
	if !errors.As(rpctypes.Error(err), &e) {
		return false
	}
	switch e.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.PermissionDenied,
		codes.Unauthenticated, codes.ResourceExhausted, codes.OutOfRange, codes.Unimplemented:
		return true
	}
	return false
}

// passing reports whether a refusal may be over soon.
func passing(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, rpctypes.ErrTooManyRequests)
}

// pause lets a while pass between two tries.
func (d *driver) pause(ctx context.Context, while time.Duration) {
	t := time.NewTimer(while)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-d.done.Done():
	}
}

// closeWithin bounds Close, of which half is for what still runs.
const closeWithin = 2 * time.Second

// Close implements lease.Driver. It revokes all leases, and with them goes every key
// that is attached to one.
func (d *driver) Close() error {
	d.stopAsking()
	d.bg.close()
	d.quit()
	ctx, cancel := context.WithTimeout(d.leader, closeWithin)
	defer cancel()
	d.mu.Lock()
	for _, s := range d.shared {
		if s := s.s.Load(); s != nil {
			s.keeper.Lose() // whoever holds by it must know before others can
		}
	}
	var ids []int64
	for id := range d.leases {
		ids = append(ids, id)
	}
	d.mu.Unlock()
	for _, id := range ids {
		for ctx.Err() == nil {
			if err := d.revoke(context.Background(), ctx, closeWithin/4, id); err == nil || refused(err) && !passing(err) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	d.c.close()
	d.bg.wait()
	return nil
}
