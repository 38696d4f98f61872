package voucher

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/ent/schema"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	// editTimeout bounds the part of an edit that may fail. With the work after the commit, a
	// call takes at most about five seconds.
	editTimeout = 3500 * time.Millisecond
	// decreaseTimeout bounds one call to Redis while the row of a sale is locked, because no
	// order of the sale is stored meanwhile.
	decreaseTimeout = 500 * time.Millisecond
	// undoTimeout bounds the work in Redis after a failed edit.
	undoTimeout = 2 * time.Second
)

// An Editor is the author of a change.
type Editor struct {
	UserID  int64
	IsAdmin bool // may edit all vouchers
}

// Changes is a change of a voucher. SubTitle and Rules can be cleared, the others cannot.
// Prices never change, because orders refer to them.
type Changes struct {
	Title    optional.Field[string]
	SubTitle optional.Field[string]
	Rules    optional.Field[string]
	Status   optional.Field[Status] // OnSale or OffSale
}

// FlashChanges is a change of a flash voucher, also during its sale.
type FlashChanges struct {
	Changes
	StockDelta *int // items to add or, if negative, to remove; nil: none
	BeginsAt   optional.Field[time.Time]
	EndsAt     optional.Field[time.Time] // a past time ends the sale
}

// mayEdit returns an [apierror.Forbidden] error if the editor may not edit the vouchers of a
// shop. known reports whether the shop exists.
func (s *Service) mayEdit(ctx context.Context, by Editor, shopID int64) (known bool, err error) {
	owner, known, err := s.shops.OwnerOf(ctx, shopID)
	switch {
	case err != nil:
		return false, fmt.Errorf("read owner of shop %d: %w", shopID, err)
	case known && !by.IsAdmin && (owner == nil || *owner != by.UserID):
		return true, apierror.New(apierror.Forbidden, "Only the shop's owner can edit its vouchers.")
	}
	return known, nil
}

// checkEditable returns an error unless the voucher is of the kind and the editor may edit it.
// Neither can change during the edit.
func (s *Service) checkEditable(ctx context.Context, by Editor, id int64, kind entvoucher.Kind) error {
	row, err := s.db.Voucher.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierror.Refuse(apierror.NotFound, "This voucher doesn't exist.", "input", "id")
	case err != nil:
		return fmt.Errorf("select voucher %d: %w", id, err)
	}
	known, err := s.mayEdit(ctx, by, row.ShopID)
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("check voucher %d: shop %d does not exist", id, row.ShopID)
	case row.Kind == kind:
		return nil
	case row.Kind == entvoucher.KindFLASH:
		return apierror.Refuse(apierror.InvalidInput, "This is a flash voucher. Edit it as a flash voucher.", "input", "id")
	default:
		return apierror.Refuse(apierror.InvalidInput, "This is not a flash voucher. Edit it as an ordinary voucher.", "input", "id")
	}
}

// Update changes an ordinary voucher and returns it as stored. Concurrent updates of one voucher
// run one after the other, and each changes only its given fields. Other processes see the change
// within a second. After failures the outbox publishes it. An update without changes only updates
// Redis, because other programs may have changed the row.
//
// For an unknown voucher, a flash voucher or invalid fields, it returns an [apierror.UserErrors]
// with all reasons. If the editor does not own the shop, the error is [apierror.Forbidden]. Any
// other error means that the database failed.
func (s *Service) Update(ctx context.Context, by Editor, id int64, c Changes) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.Update")
	defer span.End()
	ctx, writeCtx, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	if err := s.checkEditable(ctx, by, id, entvoucher.KindORDINARY); err != nil {
		return nil, err
	}
	c = c.clean()
	if err := c.check().OrNil(); err != nil {
		return nil, err
	}
	var row *ent.Voucher
	var job []outbox.JobRef
	var shops shopChange
	err := ent.WithTx(writeCtx, s.db, func(tx *ent.Tx) (err error) {
		if row, err = lockVoucher(ctx, tx, id); err != nil {
			return err
		}
		next := c.apply(*row)
		if same(&next, row) {
			return nil
		}
		if row, err = write(ctx, tx, row, &next); err != nil {
			return err
		}
		if shops, err = s.updateShops(ctx, tx, row.ShopID); err != nil {
			return err
		}
		job, err = outbox.AddBatch(writeCtx, s.outbox, tx, topic, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("update voucher %d: %w", id, err)
	}
	v := fromRow(row, nil)
	s.afterCommit(writeCtx, v, job, shops)
	return v, nil
}

func lockVoucher(ctx context.Context, tx *ent.Tx, id int64) (*ent.Voucher, error) {
	one := tx.Voucher.Query().Where(entvoucher.ID(id))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("select voucher: %w", err)
	}
	return row, nil
}

func (c Changes) apply(r ent.Voucher) ent.Voucher {
	if c.Title.Given {
		r.Title = *c.Title.Value
	}
	if c.SubTitle.Given {
		r.SubTitle = c.SubTitle.Value
	}
	if c.Rules.Given {
		r.Rules = c.Rules.Value
	}
	if c.Status.Given {
		r.Status = entvoucher.Status(*c.Status.Value)
	}
	return r
}

func same(next, row *ent.Voucher) bool { return sameTerms(next, row) && next.Status == row.Status }

func sameTerms(next, row *ent.Voucher) bool {
	text := func(a, b *string) bool { return (a == nil) == (b == nil) && optional.Value(a) == optional.Value(b) }
	return next.Title == row.Title && text(next.SubTitle, row.SubTitle) && text(next.Rules, row.Rules)
}

// write stores the columns of an edit and no others. New texts get a row of terms. At the first
// edit the old texts get one too, because orders refer to them.
func write(ctx context.Context, tx *ent.Tx, row, next *ent.Voucher) (*ent.Voucher, error) {
	change := tx.Voucher.UpdateOneID(next.ID).SetTitle(next.Title).SetStatus(next.Status).AddVersion(1)
	if !sameTerms(next, row) {
		if row.TermsID == nil {
			first, err := saveTerms(ctx, tx, row)
			if err != nil {
				return nil, err
			}
			change.SetFirstTermsID(first)
		}
		terms, err := saveTerms(ctx, tx, next)
		if err != nil {
			return nil, err
		}
		change.SetTermsID(terms)
	}
	if next.SubTitle == nil {
		change.ClearSubTitle()
	} else {
		change.SetSubTitle(*next.SubTitle)
	}
	if next.Rules == nil {
		change.ClearRules()
	} else {
		change.SetRules(*next.Rules)
	}
	stored, err := change.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("update voucher: %w", err)
	}
	return stored, nil
}

// UpdateFlash is [Service.Update] for a flash voucher and its sale, also while users order it.
//
// Removing more stock than is left, and a window that excludes live orders, are
// VOUCHER_IN_USE. Stock is removed from Redis before the database and added to the database
// before Redis, so Redis never has an item that the database lacks. If Redis is unavailable,
// the database alone decides, and orders that Redis has admitted meanwhile may fail.
func (s *Service) UpdateFlash(ctx context.Context, by Editor, id int64, c FlashChanges) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.UpdateFlash")
	defer span.End()
	ctx, writeCtx, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	if err := s.checkEditable(ctx, by, id, entvoucher.KindFLASH); err != nil {
		return nil, err
	}
	c.Changes = c.clean()
	e := edit{s: s, id: id, c: c}
	err := ent.WithTx(writeCtx, s.db, func(tx *ent.Tx) error { return e.run(ctx, writeCtx, tx) })
	if err != nil {
		if e.decreased > 0 {
			s.undoDecrease(writeCtx, id, e.decreased, e.seq)
		}
		return nil, fmt.Errorf("update flash voucher %d: %w", id, err)
	}
	v := fromRow(e.row, e.sale)
	s.afterCommit(writeCtx, v, e.job, e.shops)
	return v, nil
}

// undoDecrease restores stock in Redis after the transaction of an edit failed. After an error
// of the commit the outcome is unknown, so it reads the row under its lock. If this fails,
// Redis has an edit that the row lacks, and the reconciler of sales reverts it.
func (s *Service) undoDecrease(ctx context.Context, id int64, by int, seq int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		sale, err := lockSale(ctx, tx, id)
		if err != nil || sale.EditSeq >= seq { // committed after all, or another edit has this number
			return err
		}
		return s.sales.UndoDecrease(ctx, id, by, seq)
	})
	if err == nil {
		err = s.apply(ctx, []int64{id})
	}
	if err != nil {
		s.failures.record(ctx, restoring, id, err)
	}
}

func lockSale(ctx context.Context, tx *ent.Tx, id int64) (*ent.FlashSale, error) {
	one := tx.FlashSale.Query().Where(flashsale.ID(id))
	one.Modify(sqldb.ForUpdate)
	sale, err := one.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("select sale: %w", err)
	}
	return sale, nil
}

// An edit is one transaction of UpdateFlash.
type edit struct {
	s  *Service
	id int64
	c  FlashChanges // cleaned

	row       *ent.Voucher   // as stored
	sale      *ent.FlashSale // as stored
	job       []outbox.JobRef
	shops     shopChange
	decreased int   // items removed from Redis, or possibly removed
	seq       int64 // edit_seq of that removal
}

// run runs the edit. It locks the row of the sale first, so edits wait for each other and for
// orders that are being stored.
func (e *edit) run(ctx, writeCtx context.Context, tx *ent.Tx) (err error) {
	if e.sale, err = lockSale(ctx, tx, e.id); err != nil {
		return err
	}
	if e.row, err = lockVoucher(ctx, tx, e.id); err != nil {
		return err
	}
	wrong := e.c.check()
	delta := e.delta(&wrong)
	w := e.window(&wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	next, have := e.c.apply(*e.row), window{e.sale.BeginsAt, e.sale.EndsAt}
	saleChanged := delta != 0 || w != have || next.Status != e.row.Status
	if !saleChanged && same(&next, e.row) {
		return nil
	}
	if err := checkLiveOrders(ctx, tx, e.id, have, w); err != nil {
		return err
	}
	if delta < 0 {
		if err := e.decreaseStock(writeCtx, -delta); err != nil {
			return err
		}
	}
	if e.row, err = write(writeCtx, tx, e.row, &next); err != nil {
		return err
	}
	if saleChanged {
		if err := e.write(writeCtx, tx, delta, w); err != nil {
			return err
		}
		if e.shops, err = e.s.updateShops(writeCtx, tx, e.row.ShopID); err != nil {
			return err
		}
	}
	e.job, err = outbox.AddBatch(writeCtx, e.s.outbox, tx, topic, e.id)
	return err
}

func (e *edit) delta(wrong *apierror.UserErrors) int {
	d := optional.Value(e.c.StockDelta)
	limit := min(MaxStock, maxPerBucket*e.sale.Buckets)
	switch {
	case d > limit || e.sale.InitialStock+d > limit && d > 0:
		wrong.Add(apierror.InvalidInput, "stockDelta", "This sale can have at most %d items, including sold ones.", limit)
	case d < -MaxStock || e.sale.Stock+d < 0:
		wrong.Add(InUse, "stockDelta", "You can remove at most %d items.", e.sale.Stock)
	case e.sale.InitialStock+d < 1:
		wrong.Add(apierror.InvalidInput, "stockDelta", "A sale needs at least one item. Take the voucher off sale instead.")
	}
	return d
}

func (e *edit) window(wrong *apierror.UserErrors) window {
	w := window{e.sale.BeginsAt, e.sale.EndsAt}
	field := ""
	for _, bound := range []struct {
		name string
		set  optional.Field[time.Time]
		to   *int64
	}{{"beginsAt", e.c.BeginsAt, &w.begins}, {"endsAt", e.c.EndsAt, &w.ends}} {
		switch {
		case !bound.set.Given:
		case bound.set.Value == nil:
			wrong.Add(apierror.InvalidInput, bound.name, "Set both a start and an end.")
		default:
			*bound.to, field = bound.set.Value.UnixMilli(), bound.name
		}
	}
	if field != "" {
		w.check(wrong, field)
	}
	if e.c.BeginsAt.Given {
		w.checkBegin(wrong, e.s.now())
	}
	return w
}

// checkLiveOrders refuses a window that excludes a live order. Only orders in the removed part
// of the old window are checked.
func checkLiveOrders(ctx context.Context, tx *ent.Tx, id int64, have, next window) error {
	var wrong apierror.UserErrors
	for _, side := range []struct {
		field string
		cut   bool
		out   predicate.Order
	}{
		{"beginsAt", next.begins > have.begins, entorder.CreatedAtLT(next.begins)},
		{"endsAt", next.ends < have.ends, entorder.CreatedAtGTE(next.ends)},
	} {
		if !side.cut {
			continue
		}
		// The condition of the index order_live.
		live := func(sel *sql.Selector) { sel.Where(sql.ExprP(schema.LiveOrder)) }
		found, err := tx.Order.Query().Where(entorder.VoucherID(id), entorder.OnePerUser(true), live, side.out).Exist(ctx)
		if err != nil {
			return fmt.Errorf("find orders outside the window: %w", err)
		}
		if found {
			wrong.Add(InUse, side.field, "Some active orders are outside this window.")
		}
	}
	return wrong.OrNil()
}

// decreaseStock removes stock from Redis, which may have admitted orders that are not stored yet.
func (e *edit) decreaseStock(ctx context.Context, by int) error {
	ctx, cancel := context.WithTimeout(ctx, decreaseTimeout)
	defer cancel()
	e.decreased, e.seq = by, e.sale.EditSeq+1
	done, err := e.s.sales.DecreaseStock(ctx, e.id, by, e.seq)
	switch {
	case err != nil: // Redis is unavailable: the locked row decides
		e.s.failures.record(ctx, lowering, e.id, err)
	case !done:
		e.decreased = 0
		return apierror.Refuse(InUse, "Not enough items are left to remove.", "input", "stockDelta")
	}
	return nil
}

// write stores the changed sale. It clears the sweep time of a sale that opens again after its
// Redis keys were deleted.
func (e *edit) write(ctx context.Context, tx *ent.Tx, delta int, w window) (err error) {
	change := tx.FlashSale.UpdateOneID(e.id).AddStock(delta).AddInitialStock(delta).SetBeginsAt(w.begins).SetEndsAt(w.ends).AddEditSeq(1)
	if w.ends > e.s.now().UnixMilli() {
		change.ClearSweptAt()
	}
	if e.sale, err = change.Save(ctx); err != nil {
		return fmt.Errorf("update sale: %w", err)
	}
	return nil
}
