// Package order is the room of orders: ordering a voucher, the life of an order
// from unpaid to used or refunded, payment, a user's list of orders, and what was
// sold on a day.
//
// The rows of the database are the truth; every transition is a conditional update,
// and who loses a race is told so. Flash sales admit through internal/flashsale; until
// such an order is a row, it is QUEUED.
package order

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// A Status is where an order is in its life.
type Status string

// All statuses. QUEUED is of an order that has no row yet.
const (
	Queued    Status = "QUEUED"
	Unpaid    Status = "UNPAID"
	Paid      Status = "PAID"
	Used      Status = "USED"
	Cancelled Status = "CANCELLED"
	Refunding Status = "REFUNDING"
	Refunded  Status = "REFUNDED"
	Failed    Status = "FAILED"
)

// A PayMethod is how an order is paid.
type PayMethod string

// All methods of payment.
const (
	Balance PayMethod = "BALANCE"
	Alipay  PayMethod = "ALIPAY"
	Wechat  PayMethod = "WECHAT"
)

// Currency is the ISO 4217 code of all prices.
const Currency = "CNY"

// An Order is one piece of a voucher that a user ordered.
type Order struct {
	ID        int64  `json:"id"` // the number that people read
	UserID    int64  `json:"user"`
	VoucherID int64  `json:"voucher"`
	ShopID    int64  `json:"shop"`
	Status    Status `json:"status"`
	PayValue  int    `json:"pay_value"`       // minor units
	TermsID   int64  `json:"terms,omitempty"` // of its voucher at the insert; 0: the first ones
	// TermsUnknown marks an order of a sale that was stored just now: its row was not read.
	TermsUnknown bool          `json:"-"`
	PayMethod    *PayMethod    `json:"pay_method,omitempty"`
	FailureCode  apierror.Code `json:"failure,omitempty"` // why, of a failed one
	Version      int64         `json:"version"`           // raised by every change; 0 of a queued one
	CreatedAt    time.Time     `json:"created_at"`        // when it was admitted, to the millisecond
	PayBefore    *time.Time    `json:"pay_before,omitempty"`
	PaidAt       *time.Time    `json:"paid_at,omitempty"`
	UsedAt       *time.Time    `json:"used_at,omitempty"`
	RedeemedBy   *int64        `json:"redeemed_by,omitempty"` // user; nil of redemptions before this was stored
	DisputedAt   *time.Time    `json:"disputed_at,omitempty"` // when the buyer disputed the redemption
	CancelledAt  *time.Time    `json:"cancelled_at,omitempty"`
	RefundedAt   *time.Time    `json:"refunded_at,omitempty"`
}

// Number is the number that people read out.
func (o *Order) Number() string { return strconv.FormatInt(o.ID, 10) }

// Failure says why the order failed; nil if it did not.
func (o *Order) Failure() *apierror.UserError {
	switch o.FailureCode {
	case "":
		return nil
	case OutOfStock:
		return &apierror.UserError{Code: OutOfStock, Message: "No piece was left."}
	case AlreadyOrdered:
		return &apierror.UserError{Code: AlreadyOrdered, Message: "You had an order of this voucher already."}
	default:
		return &apierror.UserError{Code: NotCompleted, Message: "Something went wrong here, and the order was not made. Please order again."}
	}
}

// Codes of refusals.
const (
	SaleNotStarted apierror.Code = "SALE_NOT_STARTED"
	SaleEnded      apierror.Code = "SALE_ENDED"
	OutOfStock     apierror.Code = "OUT_OF_STOCK"
	AlreadyOrdered apierror.Code = "ALREADY_ORDERED"
	OffSale        apierror.Code = "VOUCHER_OFF_SALE"
	NotPayable     apierror.Code = "ORDER_NOT_PAYABLE"
	NotCancellable apierror.Code = "ORDER_NOT_CANCELLABLE"
	NotRefundable  apierror.Code = "ORDER_NOT_REFUNDABLE"
	NotRedeemable  apierror.Code = "ORDER_NOT_REDEEMABLE"
	NotDisputable  apierror.Code = "ORDER_NOT_DISPUTABLE"
	OwnShop        apierror.Code = "OWN_SHOP"            // a merchant does not buy at the own shop
	NotCompleted   apierror.Code = "ORDER_NOT_COMPLETED" // failed for a reason of ours; order again

	InsufficientBalance apierror.Code = "INSUFFICIENT_BALANCE"
)

// TermsIDs returns the terms of orders, by number. It leaves out orders that have the
// first terms of their vouchers. It reads the rows of orders with TermsUnknown.
func (s *Service) TermsIDs(ctx context.Context, orders []*Order) (map[int64]int64, error) {
	terms := make(map[int64]int64, len(orders))
	var unknown []int64
	for _, o := range orders {
		if o.TermsUnknown {
			unknown = append(unknown, o.ID)
		} else if o.TermsID != 0 {
			terms[o.ID] = o.TermsID
		}
	}
	if len(unknown) == 0 {
		return terms, nil
	}
	rows, err := s.rows.GetMany(ctx, unknown)
	if err != nil {
		return nil, fmt.Errorf("read the terms of %d orders: %w", len(unknown), err)
	}
	for id, o := range rows {
		if o.TermsID != 0 {
			terms[id] = o.TermsID
		}
	}
	return terms, nil
}

// IsNode says that there is a global id.
func (Order) IsNode() {}
