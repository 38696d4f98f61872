// Package order implements voucher orders: placing, payment, cancellation, redemption,
// refunds, order lists and sales figures.
//
// The database rows are the source of truth. Every transition is a conditional update; the
// loser of a race gets an error. Package flashsale admits orders of flash sales. Such an order
// is QUEUED until its row is committed.
package order

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// A Status is the state of an order.
type Status string

// All statuses. A QUEUED order has no row yet.
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

// A PayMethod is a method of payment.
type PayMethod string

// All payment methods.
const (
	Balance PayMethod = "BALANCE"
	Alipay  PayMethod = "ALIPAY"
	Wechat  PayMethod = "WECHAT"
)

// Currency is the ISO 4217 code of all prices.
const Currency = "CNY"

// An Order is one ordered item of a voucher.
type Order struct {
	ID        int64  `json:"id"` // the order number
	UserID    int64  `json:"user"`
	VoucherID int64  `json:"voucher"`
	ShopID    int64  `json:"shop"`
	Status    Status `json:"status"`
	PayValue  int    `json:"pay_value"`       // minor units
	TermsID   int64  `json:"terms,omitempty"` // terms of the voucher at the insert; 0: the first terms
	// TermsUnknown marks an order that a sale has just stored, without reading its row.
	TermsUnknown bool          `json:"-"`
	PayMethod    *PayMethod    `json:"pay_method,omitempty"`
	FailureCode  apierror.Code `json:"failure,omitempty"` // reason of a FAILED order
	Version      int64         `json:"version"`           // incremented by every change; 0 if QUEUED
	CreatedAt    time.Time     `json:"created_at"`        // time of admission, in whole milliseconds
	PayBefore    *time.Time    `json:"pay_before,omitempty"`
	PaidAt       *time.Time    `json:"paid_at,omitempty"`
	UsedAt       *time.Time    `json:"used_at,omitempty"`
	RedeemedBy   *int64        `json:"redeemed_by,omitempty"` // user; nil for redemptions before this was stored
	DisputedAt   *time.Time    `json:"disputed_at,omitempty"` // time of the buyer's dispute
	CancelledAt  *time.Time    `json:"cancelled_at,omitempty"`
	RefundedAt   *time.Time    `json:"refunded_at,omitempty"`
}

// Number returns the order number in decimal.
func (o *Order) Number() string { return strconv.FormatInt(o.ID, 10) }

// Failure returns the reason of a failed order, or nil.
func (o *Order) Failure() *apierror.UserError {
	switch o.FailureCode {
	case "":
		return nil
	case OutOfStock:
		return &apierror.UserError{Code: OutOfStock, Message: "This voucher is sold out."}
	case AlreadyOrdered:
		return &apierror.UserError{Code: AlreadyOrdered, Message: "You already ordered this voucher."}
	default:
		return &apierror.UserError{Code: NotCompleted, Message: "Something went wrong, and your order wasn't placed. Please order again."}
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
	OwnShop        apierror.Code = "OWN_SHOP"            // merchants cannot buy from their own shop
	NotCompleted   apierror.Code = "ORDER_NOT_COMPLETED" // internal failure; order again

	InsufficientBalance apierror.Code = "INSUFFICIENT_BALANCE"
)

// TermsIDs returns the ids of the terms of orders, by order number. It omits orders with the
// first terms of their voucher, and reads the rows of orders with TermsUnknown.
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

// IsNode marks a type with a global id.
func (Order) IsNode() {}
