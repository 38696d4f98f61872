package lock

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sqlfile"
)

var (
	//go:embed sql/register.sql
	registerText string
	//go:embed sql/sweep.sql
	sweepText string

	registerSQL = sqlfile.Statement(registerText)
	sweepSQL    = sqlfile.Statement(sweepText)
)

// ErrFenced says that a later holder of the lock registered: the transaction must
// be rolled back.
var ErrFenced = errors.New("a later holder of the lock registered")

// Execer runs a statement: a *sql.DB, a *sql.Conn, a *sql.Tx, a transaction of ent.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Register makes a lock's fencing token count in a transaction, on Postgres or
// SQLite, wherever the lock itself is. It is the first statement of the
// transaction: what is read before may be older than what another holder wrote.
// Of two holders of a name, one of whom does not know that it lost the lock, the
// later one that registered wins: the other's Register waits for it to commit,
// and returns [ErrFenced]. If the earlier one was first, the later one waits, and
// sees what it wrote. One lease may register any number of transactions.
//
// It returns the cause, wrapped, of a lease whose context ended, without asking
// the database. On Postgres above READ COMMITTED a transaction that met another
// fails with a serialization failure and may be repeated.
//
// Tokens of one name must come from one store: those of Redis and Postgres do not
// compare. A fence stays in the table lock_fences until [Sweep] deletes it. The
// idea is M. Kleppmann's ("How to do distributed locking", 2016), but for the
// order: who checks the token only when it writes loses the update of a holder
// that read before.
func Register(ctx context.Context, tx Execer, lease *Lease) error {
	if ended := context.Cause(lease.Context()); ended != nil { //nolint:contextcheck // it is another's that is looked at
		return fmt.Errorf("register the holder of lock %q: %w", lease.Name(), ended)
	}
	done, err := tx.ExecContext(ctx, registerSQL, lease.Name(), lease.Token(), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("register the holder of lock %q: %w", lease.Name(), err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return fmt.Errorf("register the holder of lock %q: %w", lease.Name(), err)
	}
	if n == 0 {
		return fmt.Errorf("lock %q, token %d: %w", lease.Name(), lease.Token(), ErrFenced)
	}
	return nil
}

// sweepBatch bounds how many fences one statement deletes.
const sweepBatch = 500

// sweepTimeout bounds one statement.
const sweepTimeout = 10 * time.Second

// Sweep deletes the fences that nobody registered for a time, by the clock of
// this process, in steps. It returns how many. Any number of them may run at once.
//
// Without its fence a name is as if nobody had ever registered: a holder that was
// paused for longer than the time would not be refused. So it is a time for which
// no process lives without being seen to, days and not hours.
func Sweep(ctx context.Context, db Execer, olderThan time.Duration) (deleted int64, err error) {
	if olderThan <= 0 {
		return 0, fmt.Errorf("sweep fences of locks: those older than %v", olderThan)
	}
	before := time.Now().Add(-olderThan).UnixMilli()
	for {
		n, err := sweepStep(ctx, db, before)
		deleted += n
		if err != nil || n < sweepBatch {
			return deleted, err
		}
	}
}

func sweepStep(ctx context.Context, db Execer, before int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	done, err := db.ExecContext(ctx, sweepSQL, before, sweepBatch)
	if err != nil {
		return 0, fmt.Errorf("sweep fences of locks: %w", err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("sweep fences of locks: %w", err)
	}
	return n, nil
}
