package lock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// ErrBusy means that another process holds the lock.
var ErrBusy = errors.New("lock is held by another process")

// Scheme is one process of a kind of lock. Its methods are safe for concurrent use.
type Scheme interface {
	// Try takes the lock of a name, or returns [ErrBusy].
	Try(ctx context.Context, name string) (Holding, error)
	// Lock waits for the lock, in the scheme's way, until ctx ends.
	Lock(ctx context.Context, name string) (Holding, error)
	// Close ends the process and its background work.
	Close(ctx context.Context) error
}

// Holding is a lock that is held.
type Holding interface {
	// Unlock releases the lock, if it is still held.
	Unlock(ctx context.Context) error
}

// Binder is a Holding that is part of the transaction of the work, or writes in it.
type Binder interface {
	Begin(ctx context.Context) (Work, error)
}

// Notifier is a Holding that notifies its work when the lock is lost.
type Notifier interface {
	Context() context.Context
}

// Variant is a scheme with its settings.
type Variant struct {
	Name  string
	Nodes int  // Redis servers that it needs
	SQL   bool // it needs a database
	// Single means that the lock is in the memory of one process.
	Single bool
	// InTx means that the lock is the work's own transaction.
	InTx bool
	// Leased means that the lock expires after the TTL.
	Leased bool
	// Session means that the lock ends with a session of the database, immediately when its process
	// dies.
	Session bool
	// Early means that the work releases the lock before it commits.
	Early bool
	// Twin means that the lock costs as much as another variant's: only its use differs.
	Twin bool
	New  func(p Process) (Scheme, error)
}

// Process holds the dependencies of one process of a scheme: clients and a clock of its own.
type Process struct {
	Index  int
	Nodes  []*redis.Client
	DB     *sql.DB // of the work
	Locks  *sql.DB // a second pool, for locks that are sessions
	Ledger Ledger  // begins work that is not part of the lock
	Prefix string  // begins every key in Redis
	TTL    time.Duration
	Now    func() time.Time
}

func (p Process) key(name string) string { return p.Prefix + "lock:" + name }

// Variants returns all compared variants, Tandian's last.
func Variants() []Variant {
	return append([]Variant{
		{Name: "SETNX, then EXPIRE", Nodes: 1, Leased: true, New: newSetNX(setNX{later: true})},
		{Name: "SET NX PX, DEL", Nodes: 1, Leased: true, New: newSetNX(setNX{release: plain})},
		{Name: "SET NX PX, GET and DEL", Nodes: 1, Leased: true, New: newSetNX(setNX{release: checked})},
		{Name: "SET NX PX, script", Nodes: 1, Leased: true, New: newSetNX(setNX{})},
		{Name: "SET NX PX, fenced", Nodes: 1, SQL: true, Leased: true, Twin: true, New: newFenced},
		{Name: "timestamp, DEL and SETNX", Nodes: 1, Leased: true, New: newStamp(false)},
		{Name: "timestamp, GETSET", Nodes: 1, Leased: true, New: newStamp(true)},
		{Name: "mutex of the process", Single: true, New: newMutexes},
		{Name: "unlocked before the commit", Nodes: 1, Leased: true, Early: true, Twin: true, New: newSetNX(setNX{})},
		{Name: "redsync, one node", Nodes: 1, Leased: true, New: newRedsync},
		{Name: "redsync, three nodes", Nodes: 3, Leased: true, New: newRedsync},
		{Name: "row of a table", SQL: true, Leased: true, New: newRow},
		{Name: "SELECT FOR UPDATE", SQL: true, InTx: true, New: newForUpdate},
		{Name: "advisory, of the transaction", SQL: true, InTx: true, New: newAdvisory},
	}, ours()...)
}

// poll retries until the lock is free.
func poll(ctx context.Context, every time.Duration, try func() (Holding, error)) (Holding, error) {
	for {
		h, err := try()
		if !errors.Is(err, ErrBusy) {
			return h, err
		}
		if err := clock.Sleep(ctx, every); err != nil {
			return nil, err
		}
	}
}
