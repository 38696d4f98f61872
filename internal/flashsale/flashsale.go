// Package flashsale is the room of the race for a limited voucher: who gets a
// piece, how the order that proves it comes into the database, and what is done
// when either store is away or has forgotten. DESIGN.md beside this file says how
// and why.
package flashsale

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// A Decided order is one that came into the database: as an order, or as a tombstone.
type Decided struct {
	Order, User, Voucher int64
	At                   time.Time // when it was admitted
	PayBefore            time.Time // of an order that was stored just now; else zero
	Failure              string    // code of the reason, of a tombstone; "" is an order, unpaid
}

// An Entry is an order that was admitted and is not in the database yet.
type Entry struct {
	Order, User, Voucher, Shop int64
	Price                      int
	At                         time.Time
}

// NumberSource makes the numbers of orders: positive, never twice, the partition in the
// low six bits.
type NumberSource interface {
	Next(ctx context.Context, partition int) (int64, error)
}

// Orders is what the room of orders does about those that are decided here.
type Orders interface {
	// EnqueueJobs adds to tx what must happen after its commit about these orders.
	EnqueueJobs(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.JobRef, error)
	// AfterCommit does that, after the commit, and settles the tickets. It does not fail:
	// what it cannot do, the outbox does.
	AfterCommit(ctx context.Context, decided []Decided, tickets []outbox.JobRef)
}
