// Package sale holds the nouns that orders and flash sales share.
package sale

import (
	"fmt"
	"time"
)

// A Result says what became of a [Request].
type Result int

// All results.
const (
	Stored     Result = iota + 1 // the order is in the database, unpaid
	Queued                       // admitted; the number will become an order, or a failed one
	Held                         // the user has a live order of this voucher, or one that is queued: Response.Order
	Repeated                     // the client's key made an order before: Response.Order, whatever became of it
	Failed                       // admitted, and then failed for a reason of ours: Response.Order is a tombstone
	NotStarted                   // the sale opens later
	Ended                        // the sale is over
	OffSale                      // the merchant took it off sale
	OutOfStock                   // no piece is left
)

var resultNames = [...]string{
	Stored: "stored", Queued: "queued", Held: "held", Repeated: "repeated", Failed: "failed",
	NotStarted: "not_started", Ended: "ended", OffSale: "off_sale", OutOfStock: "out_of_stock",
}

// String returns the name of a result, as metrics and logs have it.
func (r Result) String() string {
	if r < Stored || int(r) >= len(resultNames) {
		return fmt.Sprintf("Result(%d)", int(r))
	}
	return resultNames[r]
}

// A Request is one user's wish for one piece of a flash sale.
type Request struct {
	UserID    int64
	VoucherID int64
	ShopID    int64 // the voucher's
	Price     int   // minor units
	Partition int   // the sale's
	Buckets   int   // the sale's
	// Key names the order that the client wants once, over retries: a digest of user, voucher
	// and the client's key, at most 43 bytes. "" is none.
	Key string
}

// A Response says what became of a [Request].
type Response struct {
	Result Result
	Order  int64     // the number; 0 if there is none
	At     time.Time // when it was admitted, by the store that did; zero if it was not, or is not known
	// PayBefore is until when an order that was stored just now may be paid; zero if it is not
	// known.
	PayBefore time.Time
}

// A Reservation is a piece of a flash sale that an order has.
type Reservation struct {
	Order, User, Voucher int64
}
