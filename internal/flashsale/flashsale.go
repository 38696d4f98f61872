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

// A Result says what became of a [Try].
type Result int

// All results.
const (
	Stored     Result = iota + 1 // the order is in the database, unpaid
	Queued                       // admitted; the number will become an order, or a failed one
	Held                         // the user has a live order of this voucher, or one that is queued: Answer.Order
	Repeated                     // the client's key made an order before: Answer.Order, whatever became of it
	Failed                       // admitted, and then failed for a reason of ours: Answer.Order is a tombstone
	NotStarted                   // the sale opens later
	Ended                        // the sale is over
	OffSale                      // the merchant took it off sale
	OutOfStock                   // no piece is left
)

// A Try is one user who wants one piece.
type Try struct {
	UserID    int64
	VoucherID int64
	ShopID    int64 // the voucher's
	Price     int   // minor units
	Partition int   // the sale's
	Buckets   int   // the sale's
	// Key names what the client wants once, over retries: a digest of user, voucher
	// and the client's word, at most 43 bytes. "" is none.
	Key string
}

// An Answer is what became of a [Try].
type Answer struct {
	Result Result
	Order  int64     // the number; 0 if there is none
	At     time.Time // when it was admitted, by the store that did; zero if it was not, or is not known
	// PayBefore is until when it may be paid, of what is Stored: the row that it is need
	// not be read. Zero if it is not known.
	PayBefore time.Time
}

// A Hold is a piece that an order has.
type Hold struct {
	Order, User, Voucher int64
}

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

// Numbers makes the numbers of orders: positive, never twice, the partition in the
// low six bits.
type Numbers interface {
	Next(ctx context.Context, partition int) (int64, error)
}

// Orders is what the room of orders does about those that are decided here.
type Orders interface {
	// Note adds to tx what must happen after its commit about these orders.
	Note(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.Ticket, error)
	// Announce does that, after the commit, and settles the tickets. It does not fail:
	// what it cannot do, the outbox does.
	Announce(ctx context.Context, decided []Decided, tickets []outbox.Ticket)
}
