package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/voucher"
)

func orderViewer(ctx context.Context) order.Viewer {
	return order.Viewer(editor(ctx))
}

// readOrders is the reader of orders that the viewer may see.
func (r *Resolver) readOrders(ctx context.Context, numbers []int64) (map[int64]*order.Order, error) {
	if viewer(ctx).ID == 0 {
		return nil, nil //nolint:nilnil // no orders
	}
	return r.services.Orders.ByIDs(ctx, orderViewer(ctx), numbers)
}

// readTerms returns the terms of orders. A queued order has the current terms of its voucher.
func (r *Resolver) readTerms(ctx context.Context, orders []*order.Order) ([]*voucher.Terms, error) {
	ids, err := r.services.Orders.TermsIDs(ctx, orders)
	if err != nil {
		return nil, err
	}
	vouchers, err := readBy(ctx, orders, func(o *order.Order) int64 { return o.VoucherID }, r.services.Vouchers.ByIDs)
	if err != nil {
		return nil, err
	}
	for i, o := range orders {
		if v := vouchers[i]; ids[o.ID] == 0 && v != nil && v.FirstTermsID != 0 && o.Status != order.Queued {
			ids[o.ID] = v.FirstTermsID
		}
	}
	stored, err := r.services.Vouchers.TermsByIDs(ctx, slices.Collect(maps.Values(ids)))
	if err != nil {
		return nil, err
	}
	terms := make([]*voucher.Terms, len(orders))
	for i, o := range orders {
		if terms[i] = stored[ids[o.ID]]; terms[i] == nil && vouchers[i] != nil {
			terms[i] = vouchers[i].Terms()
		}
	}
	return terms, nil
}

// readRedeemers returns the user that redeemed each order, or nil.
func (r *Resolver) readRedeemers(ctx context.Context, orders []*order.Order) ([]*account.User, error) {
	users := make([]*account.User, len(orders))
	var ids []int64
	for _, o := range orders {
		if o.RedeemedBy != nil {
			ids = append(ids, *o.RedeemedBy)
		}
	}
	if len(ids) == 0 {
		return users, nil
	}
	found, err := r.services.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, o := range orders {
		users[i] = found[optional.Value(o.RedeemedBy)]
	}
	return users, nil
}

// orderNumber returns the number of an order id, or 0 for nil.
func orderNumber(id *scalar.ID) (int64, error) {
	if id == nil {
		return 0, nil
	}
	return id.Of("Order")
}
