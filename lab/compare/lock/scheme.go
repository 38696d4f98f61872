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

// Scheme is one process of one way to lock. Its methods may run at once.
type Scheme interface {
	// Try takes the lock of a name, or returns [ErrBusy].
	Try(ctx context.Context, name string) (Holding, error)
	// Lock waits for it, in the scheme's way, until ctx ends.
	Lock(ctx context.Context, name string) (Holding, error)
	// Close ends the process and what it does in the background.
	Close(ctx context.Context) error
}

// Holding is a lock that is held.
type Holding interface {
	// Unlock releases the lock, if it is still held.
	Unlock(ctx context.Context) error
}

// Binder is a Holding that has to do with the transaction of the work: it lives
// in it, or leaves something there.
type Binder interface {
	Begin(ctx context.Context) (Work, error)
}

// Teller is a Holding that tells its work to stop when the lock is lost.
type Teller interface {
	Context() context.Context
}

// Variant is a scheme with its settings.
type Variant struct {
	Name  string
	Nodes int  // Redis servers that it needs
	SQL   bool // it needs a database
	// Single says that a lock is in the memory of one process.
	Single bool
	// InTx says that the lock is the work's own transaction.
	InTx bool
	// Leased says that the lock ends by itself after the TTL.
	Leased bool
	// Session says that the lock ends with a session of the database, at once
	// when its process dies.
	Session bool
	// Early says that the work gives the lock back before it commits.
	Early bool
	// Twin says that the lock takes as long as another variant's: only its use differs.
	Twin bool
	New  func(p Process) (Scheme, error)
}

// Process holds the dependencies of one process of a scheme: clients and a clock of its own.
type Process struct {
	Index  int
	Nodes  []*redis.Client
	DB     *sql.DB // of the work
	Locks  *sql.DB // a second pool, for locks that are sessions
	Ledger Ledger  // where work begins that is not bound to its lock
	Prefix string  // begins every key in Redis
	TTL    time.Duration
	Now    func() time.Time
}

func (p Process) key(name string) string { return p.Prefix + "lock:" + name }

// Variants are all that are compared, ours last.
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

// poll tries until the lock is free.
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
