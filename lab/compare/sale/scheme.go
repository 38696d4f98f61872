package sale

import (
	"context"
	"sync/atomic"
)

// A Decision is the answer to a wish.
type Decision int

// All decisions.
const (
	Admitted Decision = iota + 1 // the items are reserved: Answer.Order has a row, or will have one
	SoldOut                      // not enough stock
	Held                         // the user has Answer.Order already
)

// A Wish is a request of one user for items of a sale, all of them or none.
type Wish struct {
	User, Voucher int64
	Quantity      int
}

// An Answer is the outcome of a wish.
type Answer struct {
	Decision
	Order int64 // its number; 0 if there is none
}

// A Sale is a limited stock to sell.
type Sale struct {
	Voucher, Shop int64
	Stock         int
	Many          bool // users want several pieces, and not one each
}

// An Admitter is one way to sell. Admit is safe for concurrent use; a user has at most one order of
// a sale.
type Admitter interface {
	// Open opens a sale that has its row in flash_sales. There is one at a time.
	Open(ctx context.Context, s Sale) error
	// Admit decides. After an error the outcome of the wish is unknown.
	Admit(ctx context.Context, w Wish) (Answer, error)
	// Settle waits until every admitted order is stored.
	Settle(ctx context.Context, s Sale) error
	// Left returns the remaining stock, from the store of this way.
	Left(ctx context.Context, s Sale) (int, error)
	// Retried counts repeated attempts after a conflict.
	Retried() int64
	// Close ends the background work.
	Close(ctx context.Context) error
}

// A Variant is a way with its settings.
type Variant struct {
	Name   string
	Single bool // each order is a transaction of the database, which decides
	Ours   bool // the server's own code
	Most   int  // maximum orders of a round, for a way that stores more slowly than it admits; 0 is unlimited
	New    func(ctx context.Context, on *Servers) (Admitter, error)
}

// Variants returns all compared variants.
func Variants() []Variant {
	return []Variant{
		{Name: "SELECT FOR UPDATE", Single: true, New: newPessimistic},
		{Name: "version, compare and set", Single: true, New: newVersioned},
		{Name: "conditional update", Single: true, New: newConditional},
		{Name: "Redis WATCH and MULTI", New: newWatch},
		{Name: "lock for each user", Single: true, New: newLocked},
		{Name: "Lua, queue one by one", Most: 3000, New: newQueued(1)},
		{Name: group, Ours: true, New: newOurs(kind{})},
		{Name: "the same, waits for the row", Ours: true, New: newOurs(kind{waits: true})},
		{Name: "Postgres, group commit", Ours: true, New: newOurs(kind{away: true})},
	}
}

// group names the way of the server.
const group = "Lua, group commit"

// retries is a counter of retries.
type retries struct{ n atomic.Int64 }

// Retried implements [Admitter].
func (r *retries) Retried() int64 { return r.n.Load() }
