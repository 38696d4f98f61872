package order

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Outbox topics of this package.
const (
	ordersChanged = "orders-changed" // ids of orders with changed rows
	ordersDecided = "orders-decided" // ids of orders with inserted rows
	chargeTopic   = "order-charge"   // a payment attempt to charge
	refundTopic   = "order-refund"   // a payment attempt to refund
)

const afterCommitTimeout = 5 * time.Second

// openOutbox registers the handlers that finish the work of failed writers.
func (s *Service) openOutbox() {
	s.outbox.Handle(ordersChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
	s.outbox.Handle(ordersDecided, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.retryDecided)})
	s.outbox.Handle(chargeTopic, outbox.Handler{Do: outbox.DoBatch(s.retryCharges)})
	s.outbox.Handle(refundTopic, outbox.Handler{Do: outbox.DoBatch(s.retryRefunds)})
}

// A StoredOrder is an order that was stored in the database, possibly as a tombstone.
type StoredOrder struct {
	Order, User, Voucher int64
	At                   time.Time // time of admission
}

// EnqueueJobs adds jobs to tx that publish the inserted orders after its commit.
func (s *Service) EnqueueJobs(ctx context.Context, tx outbox.Execer, ids []int64) ([]outbox.JobRef, error) {
	return outbox.AddBatch(ctx, s.outbox, tx, ordersDecided, ids...)
}

// AfterCommit publishes orders after the commit: it adds them to the lists of their users,
// notifies watchers and finishes the jobs of [Service.EnqueueJobs]. The outbox retries
// failures.
func (s *Service) AfterCommit(ctx context.Context, changed []StoredOrder, jobs []outbox.JobRef) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterCommitTimeout)
	defer cancel()
	s.outbox.Finish(ctx, s.publish(ctx, changed), jobs...)
}

func (s *Service) publish(ctx context.Context, changed []StoredOrder) error {
	hints := make(map[string]bool, len(changed))
	for _, c := range changed {
		hints[ordersKey(c.User)] = true
		hints[s.cfg.StockKey(c.Voucher)] = true
	}
	err := s.lists.addAndUnqueue(ctx, changed)
	s.notify(hints)
	return err
}

// retryDecided is publish for orders whose writer did not finish. While Redis is unavailable, it
// does not query the database, because the sales run on the database then.
func (s *Service) retryDecided(ctx context.Context, ids ...int64) error {
	if err := s.lists.rdb.Ping(ctx).Err(); err != nil {
		return outbox.Transient(fmt.Errorf("publish %d orders: %w", len(ids), err))
	}
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d orders: %w", len(ids), err))
	}
	changed := make([]StoredOrder, len(rows))
	for i, r := range rows {
		changed[i] = storedOrderOf(r)
	}
	return outbox.Transient(s.publish(ctx, changed)) // Redis is unavailable
}

func storedOrderOf(r *ent.Order) StoredOrder {
	return StoredOrder{Order: r.ID, User: r.UserID, Voucher: r.VoucherID, At: time.UnixMilli(r.CreatedAt)}
}

// Invalidate updates Redis and notifies watchers after any change of order rows. It may be
// repeated.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).
		Select(entorder.FieldID, entorder.FieldUserID, entorder.FieldVoucherID).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d orders: %w", len(ids), err))
	}
	err = outbox.Transient(s.rows.Invalidate(ctx, ids...)) // Redis is unavailable
	hints := make(map[string]bool, len(rows))
	for _, r := range rows {
		hints[ordersKey(r.UserID)] = true
		hints[s.cfg.StockKey(r.VoucherID)] = true
	}
	s.notify(hints)
	return err
}

func (s *Service) notify(hints map[string]bool) {
	s.cfg.OnChange(slices.Collect(maps.Keys(hints))...)
}
