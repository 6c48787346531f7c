package lock

import (
	"context"
	"errors"
	"time"
)

// The contract of distributed locks.

// ErrNotAcquired is returned by Leaser.Acquire when the lock is surely not
// held by the caller: somebody else has it and the caller did not wait, or its
// context ended before anything was granted.
var ErrNotAcquired = errors.New("lock not acquired")

// ErrUnknown is returned when a request got no answer: the lock is perhaps
// held (and being cleaned up), or was perhaps released.
var ErrUnknown = errors.New("outcome unknown")

// ErrNotHeld is returned by Lease.Release when the lease was lost before.
var ErrNotHeld = errors.New("lock not held")

// ErrDeadlock is returned, wrapped in ErrNotAcquired, by a service that found the
// caller in a cycle of waiters and chose it to give way (PostgreSQL's 40P01).
// Leases of the same owner may be lost with it.
var ErrDeadlock = errors.New("deadlock detected by the server")

// Target says where the servers of a distributed lock are, and how to reach
// them. It is plain data that a parent sends to its client processes; it must
// not be printed, because it may hold a password.
type Target struct {
	Service  string   `json:"service"`            // "redis", "redlock", "etcd", "zookeeper", "postgres", "loopback"
	Topology string   `json:"topology"`           // "redis", "redis-aof", "redis-sentinel", "redlock-3", "etcd-1", ...
	Addrs    []string `json:"addrs"`              // host:port, one per server; of a Sentinel topology: the sentinels
	Master   string   `json:"master,omitempty"`   // Sentinel: the name of the group of servers that it watches
	User     string   `json:"user,omitempty"`     // empty: none
	Password string   `json:"password,omitempty"` // empty: none
	Database string   `json:"database,omitempty"` // PostgreSQL: the database; Redis: its number
	TLS      *TLS     `json:"tls,omitempty"`      // nil: no TLS
	// Reach maps addresses that servers announce to addresses at which this
	// process reaches them (servers in containers, proxies); nil: none differ.
	Reach map[string]string `json:"reach,omitempty"`
	// Prefix begins every name that the lock creates: "lockbench/<run id>/<cell>/".
	// The name of a key is Prefix + key; ZooKeeper puts a slash before it, PostgreSQL keeps
	// the key "<cell>/key" in a schema named "lockbench/<run id>".
	Prefix string `json:"prefix"`
	// TTL is that of the cell's leases, for clients whose sessions are made
	// when they dial; > 0.
	TTL time.Duration `json:"ttl_ns"`
	// Workers is how many goroutines will use the client at a time: at least so
	// many connections, where one carries one request at a time.
	Workers int `json:"workers"`
	// DialTimeout bounds Dial, and any one reconnect; > 0.
	DialTimeout time.Duration `json:"dial_timeout_ns"`
	// App is what the client calls itself where a server shows its clients' names (PostgreSQL's
	// application_name); empty: the driver's default.
	App string `json:"app,omitempty"`
	// Meter counts what the client does; nil counts nothing. It stays in the process.
	Meter *Meter `json:"-"`
}

// TLS says how a server's certificate is checked.
type TLS struct {
	CAFile     string `json:"ca_file,omitempty"` // PEM; empty: the system's
	CertFile   string `json:"cert_file,omitempty"`
	KeyFile    string `json:"key_file,omitempty"`
	ServerName string `json:"server_name,omitempty"` // empty: the host of the address
	Insecure   bool   `json:"insecure,omitempty"`    // check nothing
}

// WaitPolicy says how Acquire waits between two attempts, where a lock polls.
// The delay before attempt n+1 is min(Max, Min * 2^(n-1)), of which the share
// Jitter is drawn at random: delay * (1 - Jitter*u), u uniform in [0, 1).
type WaitPolicy struct {
	Min    time.Duration `json:"min_ns"` // 0 < Min <= Max
	Max    time.Duration `json:"max_ns"`
	Jitter float64       `json:"jitter"` // 0 to 1
}

// AcquireOptions are the options of one acquisition.
type AcquireOptions struct {
	TTL   time.Duration // after which an unrenewed lease ends; > 0
	Renew bool          // keep the lease alive in the background
	Wait  WaitPolicy
	Try   bool // do not wait: one attempt, then ErrNotAcquired
	Fence bool // ask for a fencing token
	// Owner makes the acquisition reentrant: a second one of the same key by
	// the same owner is granted at once, counted, with the same token, and is
	// freed by as many releases. Leases on different keys of one owner share what a
	// service ties together (one session or transaction of PostgreSQL), so that it
	// can see their deadlocks. Empty: a new owner, never reentrant.
	Owner string
}

// Client is one client process's access to a service. Exactly one of Leaser
// and Optimistic is implemented beside it, as Info.Kind says. Its methods may be
// called from several goroutines.
type Client interface {
	// Close ends sessions and connections; leases still held end with their
	// TTL or session. It returns within some seconds even if no server answers.
	Close() error
}

// Leaser is a Client that grants leases.
type Leaser interface {
	Client
	// Acquire returns a lease on key, or an error that wraps ErrNotAcquired (surely
	// not held) or ErrUnknown (perhaps held, and being cleaned up). When ctx
	// ends it returns at once, with ctx.Err() wrapped, too; a grant that comes late
	// is released and counted in Meter.Orphans.
	Acquire(ctx context.Context, key string, o AcquireOptions) (Lease, error)
}

// Lease is one grant. Its methods may be called from several goroutines.
type Lease interface {
	// Release returns nil, ErrNotHeld (lost before) or ErrUnknown. It never
	// touches a successor's lock.
	Release(ctx context.Context) error
	// Lost is closed when the client knows, or by its own deadline must
	// assume, that it no longer holds the lock. After Release it may stay open.
	Lost() <-chan struct{}
	// ValidUntil is the local deadline, on the monotonic clock: the time at
	// which the last successful renewal was sent, plus the TTL as granted. ok
	// is false for a lock that ends with its session only.
	ValidUntil() (deadline time.Time, ok bool)
	// Token is the fencing token, strictly increasing per key; ok is false if
	// the lock has none or none was asked for.
	Token() (token uint64, ok bool)
}

// Guarded is a Lease with a write that is atomic with the proof of holding.
type Guarded interface {
	Lease
	// Apply adds delta to the value that the service keeps for the lease's
	// key (0 at first). nil: the write will last, once Release has returned nil where
	// the work is a transaction that Release commits. ErrNotHeld: not written.
	// ErrUnknown: perhaps.
	Apply(ctx context.Context, delta int64) error
}

// Optimistic is a Client that updates without a lock: read, compute, write if
// unchanged. It is not a Leaser.
type Optimistic interface {
	Client
	// Update applies fn to the value of key (0 at first) and returns the number of
	// attempts made. nil: written once. ErrUnknown: perhaps written, once.
	// ErrNotAcquired: surely not.
	Update(ctx context.Context, key string, fn func(int64) int64) (attempts int, err error)
}

// Extras of a Client, optional.
type (
	// Preparer makes what must be there before anybody acquires, such as
	// tables and rows. One client of a cell is asked, before any of them begins.
	Preparer interface {
		Prepare(ctx context.Context, keys []string) error
	}
	// Valuer reads what Guarded and Optimistic writes left for a key.
	Valuer interface {
		Value(ctx context.Context, key string) (int64, error)
	}
	// MinTTL is implemented by clients of services that refuse or stretch a short TTL.
	MinTTL interface {
		// MinTTL returns the shortest TTL that the service grants as asked.
		MinTTL(ctx context.Context) (time.Duration, error)
	}
)
