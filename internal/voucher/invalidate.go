package voucher

import (
	"context"
	"errors"
	"fmt"
	"time"

	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic of this room's jobs in the outbox: ids of vouchers that were inserted or
// changed, or whose sale was.
const topic = "vouchers"

// applyTimeout bounds what the room of flash sales may take for one change.
const applyTimeout = time.Second

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
}

// Invalidate tells Redis and the other processes that rows of vouchers or of their
// sales were inserted or changed, by whomever: sales are brought to what their
// rows say, what is cached of the vouchers is dropped, and so are the lists of their
// shops and that of all sales. It may be repeated, late too. Of a row that is gone the
// shop is not known, and need not be: a list passes over what has no row.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	query := s.db.Voucher.Query().Where(entvoucher.IDIn(ids...))
	query.Select(entvoucher.FieldKind, entvoucher.FieldShopID)
	rows, err := query.All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d vouchers: %w", len(ids), err))
	}
	var flash []int64
	var lists []shopList
	for _, r := range rows {
		if r.Kind == entvoucher.KindFLASH {
			flash = append(flash, r.ID)
		}
		lists = append(lists, listsOfShop(r.ShopID)...)
	}
	err = errors.Join(s.apply(ctx, flash), s.vouchers.Invalidate(ctx, ids...), s.lists.Invalidate(ctx, lists...), s.table.Invalidate(ctx))
	s.changed(ids...)
	return outbox.Transient(err) // Redis is away
}

// apply brings sales in Redis to what their rows say. What is committed is told,
// whoever waits for it.
func (s *Service) apply(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	if err := s.sales.Apply(ctx, ids...); err != nil {
		return fmt.Errorf("apply %d sales: %w", len(ids), err)
	}
	return nil
}

// announce tells of one voucher that was committed. A cached row is replaced, not
// dropped: the readers of a running sale need no load after its edit. Without a
// job nothing was written, but what Redis has may differ all the same.
//
// It has no error, because the write stands: a client that saw one would create
// its voucher twice. What Redis could not be told is left to the outbox, and so is
// what a crash after the commit leaves untold.
func (s *Service) announce(ctx context.Context, v *Voucher, job []outbox.JobRef) {
	var err error
	if v.Sale != nil { // before readers can see it
		err = s.apply(ctx, []int64{v.ID})
	}
	if len(job) == 0 {
		err = errors.Join(err, s.vouchers.Invalidate(ctx, v.ID))
	} else {
		_, putErr := s.vouchers.Put(ctx, v.ID, *v)
		err = errors.Join(err, putErr)
	}
	err = errors.Join(err, s.lists.Invalidate(ctx, listsOfShop(v.ShopID)...), s.table.Invalidate(ctx))
	s.changed(v.ID)
	s.outbox.Finish(ctx, err, job...)
}
