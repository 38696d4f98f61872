package order

import (
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

func fromRow(r *ent.Order) *Order {
	o := &Order{
		ID: r.ID, UserID: r.UserID, VoucherID: r.VoucherID, ShopID: r.ShopID, Status: Status(r.Status), PayValue: r.PayValue,
		TermsID: optional.Value(r.TermsID), RedeemedBy: r.RedeemedBy, DisputedAt: timeOf(r.RedemptionDisputedAt),
		FailureCode: apierror.Code(optional.Value(r.Failure)), Version: r.Version, CreatedAt: time.UnixMilli(r.CreatedAt),
		PaidAt: timeOf(r.PaidAt), UsedAt: timeOf(r.UsedAt), CancelledAt: timeOf(r.CancelledAt), RefundedAt: timeOf(r.RefundedAt),
	}
	if o.Status == Unpaid {
		o.PayBefore = timeOf(&r.PayBefore)
	}
	if r.PayMethod != nil {
		method := PayMethod(*r.PayMethod)
		o.PayMethod = &method
	}
	return o
}

func timeOf(ms *int64) *time.Time {
	if ms == nil {
		return nil
	}
	t := time.UnixMilli(*ms)
	return &t
}
