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
	// editTimeout bounds the part of an edit that may fail: with what is told after
	// it, a call takes some five seconds at most.
	editTimeout = 3500 * time.Millisecond
	// lowerTimeout bounds one call to Redis while the row of a sale is locked: no
	// order of it is stored meanwhile.
	lowerTimeout = 500 * time.Millisecond
	// takeBackTimeout bounds what is done in Redis about an edit that failed.
	takeBackTimeout = 2 * time.Second
)

// An Editor is who asks for a change.
type Editor struct {
	UserID  int64
	IsAdmin bool // may change the vouchers of others: an administrator
}

// Changes are what is to become of a voucher's fields. SubTitle and Rules can be
// cleared, the others cannot. Prices never change: orders have them.
type Changes struct {
	Title    optional.Field[string]
	SubTitle optional.Field[string]
	Rules    optional.Field[string]
	Status   optional.Field[Status] // OnSale or OffSale
}

// FlashChanges are what is to become of a flash voucher, also while its sale runs.
type FlashChanges struct {
	Changes
	StockDelta *int // pieces more or, below 0, less; nil for none
	BeginsAt   optional.Field[time.Time]
	EndsAt     optional.Field[time.Time] // one in the past ends the sale
}

// mayEdit returns a fault if the editor may not change what a shop sells, and
// whether there is such a shop.
func (s *Service) mayEdit(ctx context.Context, by Editor, shopID int64) (known bool, err error) {
	owner, known, err := s.shops.OwnerOf(ctx, shopID)
	switch {
	case err != nil:
		return false, fmt.Errorf("ask for the owner of shop %d: %w", shopID, err)
	case known && !by.IsAdmin && (owner == nil || *owner != by.UserID):
		return true, apierror.New(apierror.Forbidden, "Only its owner may change what a shop sells.")
	}
	return known, nil
}

// editable returns an error unless the voucher is of the kind and the editor may
// change it. Neither can change while the edit goes on.
func (s *Service) editable(ctx context.Context, by Editor, id int64, kind entvoucher.Kind) error {
	row, err := s.db.Voucher.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return apierror.Refuse(apierror.NotFound, "There is no such voucher.", "input", "id")
	case err != nil:
		return fmt.Errorf("select voucher %d: %w", id, err)
	}
	known, err := s.mayEdit(ctx, by, row.ShopID)
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("voucher %d is of shop %d, which does not exist", id, row.ShopID)
	case row.Kind == kind:
		return nil
	case row.Kind == entvoucher.KindFLASH:
		return apierror.Refuse(apierror.InvalidInput, "This is a flash voucher: change it as one.", "input", "id")
	default:
		return apierror.Refuse(apierror.InvalidInput, "This is no flash voucher: change it as an ordinary one.", "input", "id")
	}
}

// Update changes an ordinary voucher and returns it as stored. Updates of one
// voucher follow each other: what one of them leaves alone stays as another has
// made it. When it returns, every process sees the voucher as it is now, as
// [Service.announce] explains. An update that changes nothing writes nothing, but
// tells Redis all the same: the row may have been changed past this program.
//
// Without such an ordinary voucher, or with changes that break a bound (all of them
// at once), it returns a [fault.UserErrors]; a [fault.Forbidden] if the shop is not
// the editor's. Any other error means that the database failed.
func (s *Service) Update(ctx context.Context, by Editor, id int64, c Changes) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.Update")
	defer span.End()
	ctx, whole, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	if err := s.editable(ctx, by, id, entvoucher.KindORDINARY); err != nil {
		return nil, err
	}
	c = c.clean()
	if err := c.check().OrNil(); err != nil {
		return nil, err
	}
	var row *ent.Voucher
	var job []outbox.JobRef
	err := ent.WithTx(whole, s.db, func(tx *ent.Tx) (err error) {
		if row, err = locked(ctx, tx, id); err != nil {
			return err
		}
		next := c.apply(*row)
		if same(&next, row) {
			return nil
		}
		if row, err = write(ctx, tx, row, &next); err != nil {
			return err
		}
		job, err = outbox.AddBatch(whole, s.outbox, tx, topic, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change voucher %d: %w", id, err)
	}
	v := fromRow(row, nil)
	s.announce(whole, v, job)
	return v, nil
}

// locked reads a voucher's row, which nobody else changes until tx ends.
func locked(ctx context.Context, tx *ent.Tx, id int64) (*ent.Voucher, error) {
	one := tx.Voucher.Query().Where(entvoucher.ID(id))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("select it: %w", err)
	}
	return row, nil
}

// apply returns the row as checked changes make it.
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

// same says whether an edit would change nothing of the row.
func same(next, row *ent.Voucher) bool { return sameTerms(next, row) && next.Status == row.Status }

// sameTerms reports whether an edit leaves the terms as they are.
func sameTerms(next, row *ent.Voucher) bool {
	text := func(a, b *string) bool { return (a == nil) == (b == nil) && optional.Value(a) == optional.Value(b) }
	return next.Title == row.Title && text(next.SubTitle, row.SubTitle) && text(next.Rules, row.Rules)
}

// write stores all columns that an edit decides, and no other. New words get a row of
// terms, and before the first edit the old words do: orders refer to them.
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
		return nil, fmt.Errorf("update it: %w", err)
	}
	return stored, nil
}

// UpdateFlash is [Service.Update] for a flash voucher and its sale, also while
// people order it. Besides what Update says:
//
// Less stock than is sold, or is about to be, and a window that shuts out live
// orders are VOUCHER_IN_USE. Pieces are taken out of Redis before the database lets
// them go, and put into the database before Redis sells them: at no moment does
// Redis have a piece that the database does not. When Redis cannot be asked, the
// database alone decides, and orders that Redis has admitted meanwhile may fail.
func (s *Service) UpdateFlash(ctx context.Context, by Editor, id int64, c FlashChanges) (*Voucher, error) {
	ctx, span := observe.Span(ctx, "voucher.UpdateFlash")
	defer span.End()
	ctx, whole, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	if err := s.editable(ctx, by, id, entvoucher.KindFLASH); err != nil {
		return nil, err
	}
	c.Changes = c.clean()
	e := edit{s: s, id: id, c: c}
	err := ent.WithTx(whole, s.db, func(tx *ent.Tx) error { return e.run(ctx, whole, tx) })
	if err != nil {
		if e.lowered > 0 {
			s.takeBack(whole, id, e.lowered, e.seq)
		}
		return nil, fmt.Errorf("change flash voucher %d: %w", id, err)
	}
	v := fromRow(e.row, e.sale)
	s.announce(whole, v, e.job)
	return v, nil
}

// takeBack puts pieces back into Redis that an edit took out whose transaction
// failed. After an error of the commit nobody knows: the row says it, once it can be locked.
// What cannot be done is left to the reconciler, which sees that Redis has an edit that
// the row has not.
func (s *Service) takeBack(ctx context.Context, id int64, by int, seq int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTimeout)
	defer cancel()
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		sale, err := lockedSale(ctx, tx, id)
		if err != nil || sale.EditSeq >= seq { // committed after all, or another edit has this number
			return err
		}
		return s.sales.UndoDecrease(ctx, id, by, seq)
	})
	if err == nil {
		err = s.apply(ctx, []int64{id})
	}
	if err != nil {
		s.troubles.note(ctx, restoring, id, err)
	}
}

// lockedSale reads a sale's row, which nobody else changes until tx ends.
func lockedSale(ctx context.Context, tx *ent.Tx, id int64) (*ent.FlashSale, error) {
	one := tx.FlashSale.Query().Where(flashsale.ID(id))
	one.Modify(sqldb.ForUpdate)
	sale, err := one.Only(ctx)
	if err != nil {
		return nil, fmt.Errorf("select its sale: %w", err)
	}
	return sale, nil
}

// An edit is one transaction of UpdateFlash.
type edit struct {
	s  *Service
	id int64
	c  FlashChanges // clean

	row     *ent.Voucher   // as stored
	sale    *ent.FlashSale // as stored
	job     []outbox.JobRef
	lowered int   // pieces that were taken out of Redis, or may have been
	seq     int64 // the edit that did so
}

// run does it all, and nothing if nothing changes. The sale's row is locked first:
// edits wait for each other there, and for the orders that are being stored.
func (e *edit) run(ctx, whole context.Context, tx *ent.Tx) (err error) {
	if e.sale, err = lockedSale(ctx, tx, e.id); err != nil {
		return err
	}
	if e.row, err = locked(ctx, tx, e.id); err != nil {
		return err
	}
	wrong := e.c.check()
	delta := e.delta(&wrong)
	w := e.window(&wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	next, have := e.c.apply(*e.row), window{e.sale.BeginsAt, e.sale.EndsAt}
	ofSale := delta != 0 || w != have || next.Status != e.row.Status
	if !ofSale && same(&next, e.row) {
		return nil
	}
	if err := shutOut(ctx, tx, e.id, have, w); err != nil {
		return err
	}
	if delta < 0 {
		if err := e.lower(whole, -delta); err != nil {
			return err
		}
	}
	if e.row, err = write(whole, tx, e.row, &next); err != nil {
		return err
	}
	if ofSale {
		if err := e.write(whole, tx, delta, w); err != nil {
			return err
		}
	}
	e.job, err = outbox.AddBatch(whole, e.s.outbox, tx, topic, e.id)
	return err
}

// delta is by how many pieces the stock changes.
func (e *edit) delta(wrong *apierror.UserErrors) int {
	d := optional.Value(e.c.StockDelta)
	most := min(MaxStock, perBucket*e.sale.Buckets)
	switch {
	case d > most || e.sale.InitialStock+d > most && d > 0:
		wrong.Add(apierror.InvalidInput, "stockDelta", "This sale has at most %d pieces, those that are sold included.", most)
	case d < -MaxStock || e.sale.Stock+d < 0:
		wrong.Add(InUse, "stockDelta", "Only %d pieces are left to take out.", e.sale.Stock)
	case e.sale.InitialStock+d < 1:
		wrong.Add(apierror.InvalidInput, "stockDelta", "A sale has at least one piece; take it off sale instead.")
	}
	return d
}

// window is that of the sale after the edit.
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
			wrong.Add(apierror.InvalidInput, bound.name, "A sale needs a begin and an end.")
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

// shutOut refuses a window that has no place for a live order. Only what is cut off
// the old one can have any.
func shutOut(ctx context.Context, tx *ent.Tx, id int64, have, next window) error {
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
		// As the index order_live has it.
		live := func(sel *sql.Selector) { sel.Where(sql.ExprP(schema.LiveOrder)) }
		found, err := tx.Order.Query().Where(entorder.VoucherID(id), entorder.OnePerUser(true), live, side.out).Exist(ctx)
		if err != nil {
			return fmt.Errorf("look for orders outside of the window: %w", err)
		}
		if found {
			wrong.Add(InUse, side.field, "Live orders lie outside of this window.")
		}
	}
	return wrong.OrNil()
}

// lower takes pieces out of Redis, where some may be promised already to orders
// that are not stored yet.
func (e *edit) lower(ctx context.Context, by int) error {
	ctx, cancel := context.WithTimeout(ctx, lowerTimeout)
	defer cancel()
	e.lowered, e.seq = by, e.sale.EditSeq+1
	done, err := e.s.sales.DecreaseStock(ctx, e.id, by, e.seq)
	switch {
	case err != nil: // Redis is away: the row, which is locked, decides
		e.s.troubles.note(ctx, lowering, e.id, err)
	case !done:
		e.lowered = 0
		return apierror.Refuse(InUse, "So many pieces are not left.", "input", "stockDelta")
	}
	return nil
}

// write stores the sale as the edit makes it. One that opens again after its keys
// were swept out of Redis is no longer swept.
func (e *edit) write(ctx context.Context, tx *ent.Tx, delta int, w window) (err error) {
	change := tx.FlashSale.UpdateOneID(e.id).AddStock(delta).AddInitialStock(delta).SetBeginsAt(w.begins).SetEndsAt(w.ends).AddEditSeq(1)
	if w.ends > e.s.now().UnixMilli() {
		change.ClearSweptAt()
	}
	if e.sale, err = change.Save(ctx); err != nil {
		return fmt.Errorf("update its sale: %w", err)
	}
	return nil
}
