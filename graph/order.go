package graph

import (
	"context"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/calendar"
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

// salesByDay is what a shop sold, or with nil all did, in Ints.
func (r *Resolver) salesByDay(ctx context.Context, shopID *int64, from, to calendar.Date) ([]order.DaySales, error) {
	days, err := r.rooms.Orders.SalesByDay(ctx, shopID, from, to)
	for i, d := range days {
		days[i].Orders, days[i].Paid, days[i].Amount = count(int64(d.Orders)), count(int64(d.Paid)), count(int64(d.Amount))
	}
	return days, err
}
