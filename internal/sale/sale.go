// Package sale has the types that orders and flash sales share.
package sale

import (
	"fmt"
	"time"
)

// Result is the outcome of a [Request].
type Result int

// Results.
const (
	Stored     Result = iota + 1 // the order is in the database, unpaid
	Queued                       // admitted; the number becomes an order or a failed order
	Held                         // the user has a live or queued order of this voucher: Response.Order
	Repeated                     // the idempotency key has an order, in any state: Response.Order
	Failed                       // admitted, then refused by the database or lost: Response.Order is a tombstone
	NotStarted                   // the sale opens later
	Ended                        // the sale is over
	OffSale                      // the merchant took it off sale
	OutOfStock                   // no units are left
)

var resultNames = [...]string{
	Stored: "stored", Queued: "queued", Held: "held", Repeated: "repeated", Failed: "failed",
	NotStarted: "not_started", Ended: "ended", OffSale: "off_sale", OutOfStock: "out_of_stock",
}

// String returns the name of a result for metrics and logs.
func (r Result) String() string {
	if r < Stored || int(r) >= len(resultNames) {
		return fmt.Sprintf("Result(%d)", int(r))
	}
	return resultNames[r]
}

// Request asks for one unit of a flash sale for a user.
type Request struct {
	UserID    int64
	VoucherID int64
	ShopID    int64 // the voucher's
	Price     int   // minor units
	Partition int   // the sale's
	Buckets   int   // the sale's
	// Key identifies the order over retries: a digest of user, voucher and the client's
	// idempotency key, at most 43 bytes. "" means none.
	Key string
}

// Response is the answer to a [Request].
type Response struct {
	Result Result
	Order  int64     // order number; 0 if there is none
	At     time.Time // time of admission, by the clock of the admitting store; zero if unknown
	// PayBefore is the payment deadline of an order that was just stored; zero if unknown.
	PayBefore time.Time
}

// Reservation is a unit of a flash sale that an order owns.
type Reservation struct {
	Order, User, Voucher int64
}
