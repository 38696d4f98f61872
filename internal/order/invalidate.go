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

// The topics of this room's jobs in the outbox.
const (
	ordersChanged = "orders-changed" // ids of orders whose rows were changed
	ordersDecided = "orders-decided" // ids of orders whose rows were inserted
	askProvider   = "order-charge"   // an attempt to pay that the provider is to be asked about
	payBack       = "order-refund"   // an attempt whose money is to go back
)

// announceTimeout bounds what follows a commit.
const announceTimeout = 5 * time.Second

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(ordersChanged, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
	s.outbox.Handle(ordersDecided, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.decidedAgain)})
	s.outbox.Handle(askProvider, outbox.Handler{Do: outbox.DoBatch(s.askAgain)})
	s.outbox.Handle(payBack, outbox.Handler{Do: outbox.DoBatch(s.giveBackAgain)})
}

// A StoredOrder order is one that came into the database: as an order, or as a
// tombstone.
type StoredOrder struct {
	Order, User, Voucher int64
	At                   time.Time // when it was admitted
}

// EnqueueJobs adds to tx what must happen after its commit about orders that it inserts.
func (s *Service) EnqueueJobs(ctx context.Context, tx outbox.Execer, ids []int64) ([]outbox.JobRef, error) {
	return outbox.AddBatch(ctx, s.outbox, tx, ordersDecided, ids...)
}

// AfterCommit does what [Service.EnqueueJobs] noted, after the commit: the users' lists show the
// orders, and whoever watches hears of it. It does not fail: what it cannot do, the
// outbox does.
func (s *Service) AfterCommit(ctx context.Context, changed []StoredOrder, tickets []outbox.JobRef) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTimeout)
	defer cancel()
	s.outbox.Finish(ctx, s.announce(ctx, changed), tickets...)
}

func (s *Service) announce(ctx context.Context, changed []StoredOrder) error {
	hints := make(map[string]bool, len(changed))
	for _, c := range changed {
		hints[watched(c.User)] = true
		hints[s.cfg.StockKey(c.Voucher)] = true
	}
	err := s.lists.enlist(ctx, changed)
	s.tell(hints)
	return err
}

// decidedAgain is announce for orders whose writer did not get so far. While Redis is away
// the database, which carries the sales then, is not asked for what nobody can be told.
func (s *Service) decidedAgain(ctx context.Context, ids ...int64) error {
	if err := s.lists.rdb.Ping(ctx).Err(); err != nil {
		return outbox.Transient(fmt.Errorf("announce %d orders: %w", len(ids), err))
	}
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d orders: %w", len(ids), err))
	}
	changed := make([]StoredOrder, len(rows))
	for i, r := range rows {
		changed[i] = changedOf(r)
	}
	return outbox.Transient(s.announce(ctx, changed)) // Redis is away
}

func changedOf(r *ent.Order) StoredOrder {
	return StoredOrder{Order: r.ID, User: r.UserID, Voucher: r.VoucherID, At: time.UnixMilli(r.CreatedAt)}
}

// Invalidate tells Redis and whoever watches that rows of orders were changed, by
// whomever. It may be repeated.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	rows, err := s.db.Order.Query().Where(entorder.IDIn(ids...)).
		Select(entorder.FieldID, entorder.FieldUserID, entorder.FieldVoucherID).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d orders: %w", len(ids), err))
	}
	err = outbox.Transient(s.rows.Invalidate(ctx, ids...)) // Redis is away
	hints := make(map[string]bool, len(rows))
	for _, r := range rows {
		hints[watched(r.UserID)] = true
		hints[s.cfg.StockKey(r.VoucherID)] = true
	}
	s.tell(hints)
	return err
}

// tell hints at what may have changed.
func (s *Service) tell(hints map[string]bool) {
	s.cfg.Notify(slices.Collect(maps.Keys(hints))...)
}
