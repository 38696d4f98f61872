package graph

import (
	"context"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/order"
)

// orderViewer is who asks for orders.
func orderViewer(ctx context.Context) order.Viewer {
	return order.Viewer(editor(ctx))
}

// readOrders is the reader of orders that the caller may see.
func (r *Resolver) readOrders(ctx context.Context, numbers []int64) (map[int64]*order.Order, error) {
	if viewer(ctx).ID == 0 {
		return nil, nil //nolint:nilnil // nobody's
	}
	return r.rooms.Orders.ByIDs(ctx, orderViewer(ctx), numbers)
}

// orderNumber returns the number of an id of an order, 0 for none.
func orderNumber(id *scalar.ID) (int64, error) {
	if id == nil {
		return 0, nil
	}
	return id.Of("Order")
}
