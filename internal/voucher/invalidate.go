package voucher

import (
	"context"
	"errors"
	"fmt"
	"time"

	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic is the outbox topic of this package: ids of vouchers with a new or changed row or sale.
const topic = "vouchers"

const applyTimeout = time.Second

// openOutbox registers the handler that finishes the work of failed writers.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
}

// Invalidate publishes an insert or change of vouchers or sales. It applies the sales to Redis and
// invalidates the vouchers, the lists of their shops and the list of sales. It may be repeated, also
// late. It cannot invalidate the lists of a deleted voucher's shop, but these skip vouchers without
// a row.
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
	return outbox.Transient(err) // Redis is unavailable
}

// apply updates sales in Redis from their rows. It outlives the request, because the change is
// committed.
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

// afterCommit publishes one committed voucher. It replaces the cached row, so that readers of a
// running sale need no load. Without a job nothing was written, but Redis may still differ.
//
// It returns no error, because the write is committed: a client that retries would create the
// voucher twice. The outbox retries failures, also after a crash.
func (s *Service) afterCommit(ctx context.Context, v *Voucher, job []outbox.JobRef, shops shopChange) {
	var err error
	if v.Sale != nil { // before readers see the voucher
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
	if len(shops.ids) > 0 {
		s.shops.AfterCommit(ctx, shops.ids, shops.jobs)
	}
}
