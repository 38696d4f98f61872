// Package flashsale sells limited vouchers without overselling. It admits users in Redis,
// stores their orders in the database in batches, and repairs both stores after a failure.
//
// DESIGN.md in this directory describes the invariants, the failure windows and their tests.
package flashsale

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Decided is an order with a row: an unpaid order, or a tombstone.
type Decided struct {
	Order, User, Voucher int64
	At                   time.Time // time of admission
	PayBefore            time.Time // payment deadline; zero unless the order was just stored
	Failure              string    // failure code of a tombstone; "" for an unpaid order
}

// Entry is an admitted order without a row.
type Entry struct {
	Order, User, Voucher, Shop int64
	Price                      int
	At                         time.Time
}

// NumberSource issues order numbers. They are positive and unique, and their low six bits are
// the partition.
type NumberSource interface {
	Next(ctx context.Context, partition int) (int64, error)
}

// Orders reacts to decided orders. The order service implements it.
type Orders interface {
	// EnqueueJobs adds jobs to tx that process these orders after its commit.
	EnqueueJobs(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.JobRef, error)
	// AfterCommit processes the orders after the commit and finishes their jobs. It reports no
	// error: the outbox runs the jobs that it could not finish.
	AfterCommit(ctx context.Context, decided []Decided, jobs []outbox.JobRef)
}
