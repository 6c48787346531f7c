package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

const (
	family = "distributed/postgres"
	// careless is the family of mistakes that people make, in locks that are otherwise well: matched by no
	// pattern (internal/engine).
	careless = "distributed/careless"
	manual   = "PostgreSQL documentation, "
	note     = "ends with its session or transaction: the TTL does not apply"
)

// Infos returns the catalogue's lines.
func Infos() []lock.Info {
	return []lock.Info{
		{Name: "pg-advisory", Family: family, Allocates: true, Doc: "session-level advisory lock, a connection for each lock held",
			Source: manual + "13.3.5 Advisory Locks, 9.28.10", Kind: lock.KindLease,
			Dial: dialAdvisory, Remote: remote("woken by the server, first come first served")},
		guarded("pg-advisory-xact", "transaction-level advisory lock, with the write in its transaction",
			"13.3.5 Advisory Locks, 9.28.10", "woken by the server, first come first served",
			func(d *transaction) {
				d.wait, d.try, d.hash, d.bool, d.add = stXactLock, stTryXact, true, true, d.table.upsert
			}),
		guarded("pg-row", "SELECT ... FOR UPDATE of the key's row, with the write in its transaction",
			"13.3.2 Row-Level Locks", "woken by the server",
			func(d *transaction) { d.wait, d.try, d.add = d.table.lock, d.table.lockNow, d.table.add }),
		guarded("pg-row-nowait", "SELECT ... FOR UPDATE NOWAIT, refused with 55P03 and tried again",
			"SELECT, The Locking Clause", "polls",
			func(d *transaction) { d.try, d.add = d.table.lockNow, d.table.add }),
		guarded("pg-row-skip", "SELECT ... FOR UPDATE SKIP LOCKED, no row and tried again",
			"SELECT, The Locking Clause", "polls",
			func(d *transaction) { d.try, d.skip, d.add = d.table.lockSkip, true, d.table.add }),
		{Name: "pg-version", Family: family, Doc: "no lock: UPDATE ... WHERE version = the one that was read",
			Source: "H. T. Kung and J. T. Robinson, On Optimistic Methods for Concurrency Control, TODS 1981",
			Kind:   lock.KindOptimistic, Allocates: true, Dial: dialVersion, Remote: versionRemote("takes no lock: the TTL does not apply")},
		{Name: "pg-advisory-pooled", Family: careless, Allocates: true,
			Doc:    "the common mistake: pg-advisory through a shared pool, where a lock belongs to a connection that anybody gets",
			Source: manual + "13.3.5, on session-level locks; seen in npgsql#5592 and prom-analytics-proxy#585",
			Kind:   lock.KindLease, Dial: dialPooled, Remote: &lock.Remote{Services: []string{lock.ServicePostgres},
				Waits: "woken by the server", Note: "lets in who gets the holder's connection; an unlock by another one leaks the lock"}},
		{Name: "pg-version-blind", Family: careless, Allocates: true,
			Doc:    "the common mistake: pg-version, tried again when the reply was lost, with nothing to know the first try by",
			Source: "what idempotency keys are for: without one, a retry after a lost reply may be a second write",
			Kind:   lock.KindOptimistic, Dial: dialBlind, Remote: versionRemote("counts twice when the reply to a commit is lost")},
	}
}

func remote(waits string) *lock.Remote {
	return &lock.Remote{Services: []string{lock.ServicePostgres}, Reentrant: true, Waits: waits, Note: note}
}

func versionRemote(note string) *lock.Remote {
	return &lock.Remote{Services: []string{lock.ServicePostgres}, Waits: "polls", Note: note}
}

func guarded(name, doc, source, waits string, set func(*transaction)) lock.Info {
	return lock.Info{Name: name, Family: family, Doc: doc, Source: manual + source, Kind: lock.KindGuarded, Allocates: true,
		Dial: func(ctx context.Context, t lock.Target) (lock.Client, error) { return dialTransaction(ctx, t, set) }, Remote: remote(waits)}
}

// open makes the pool and fills it.
func open(ctx context.Context, t lock.Target, n names, stmts []*statement, first func(context.Context, *pgconn.PgConn) error) (*pool, error) {
	p, err := newPool(t, n, stmts)
	if err != nil {
		return nil, err
	}
	if err := p.fill(ctx, first); err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

func dialAdvisory(ctx context.Context, t lock.Target) (lock.Client, error) {
	n, err := namesOf(t.Prefix)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	p, err := open(ctx, t, n, []*statement{stLock, stTryLock, stUnlock, stUnlockAll, stRollback}, nil)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return lease.New(newAdvisory(p, n), t.Meter), nil
}

// guardedClient is a Leaser whose leases have the protected write.
type guardedClient struct {
	*lease.Client
	*store
}

var (
	_ lock.Leaser   = guardedClient{}
	_ lock.Preparer = guardedClient{}
	_ lock.Valuer   = guardedClient{}
)

func dialTransaction(ctx context.Context, t lock.Target, set func(*transaction)) (lock.Client, error) {
	n, err := namesOf(t.Prefix)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	d := &transaction{names: n, table: statementsFor(n.table())}
	set(d)
	stmts := append([]*statement{d.try, d.add, d.table.ensure, d.table.value}, stTransaction...)
	if d.wait != nil {
		stmts = append(stmts, d.wait)
	}
	p, err := open(ctx, t, n, stmts, n.create)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	d.sessions = &sessions{pool: p, owners: map[string]*session{}, finish: d.commit}
	return guardedClient{lease.New(d, t.Meter), &store{p, n, d.table}}, nil
}

func dialVersion(ctx context.Context, t lock.Target) (lock.Client, error) {
	o, err := dialOptimistic(ctx, t)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func dialBlind(ctx context.Context, t lock.Target) (lock.Client, error) {
	o, err := dialOptimistic(ctx, t)
	if err != nil {
		return nil, err
	}
	return blind{o}, nil
}

func dialOptimistic(ctx context.Context, t lock.Target) (*optimistic, error) {
	n, err := namesOf(t.Prefix)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	st := statementsFor(n.table())
	p, err := open(ctx, t, n, []*statement{st.ensure, st.value, st.read, st.whose, st.write, stRollback}, n.create)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return &optimistic{store: &store{p, n, st}, dial: t.DialTimeout}, nil
}
