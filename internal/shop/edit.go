package shop

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// editTimeout bounds one call of Create or Update: five seconds with the last
// call to Redis, which may begin just before.
const editTimeout = 5*time.Second - redisTimeout

// An Editor is who asks for a change.
type Editor struct {
	UserID  int64
	IsAdmin bool // may change the shops of others: an administrator
}

// Create stores a shop that belongs to its editor and returns it as stored.
// When it returns, every process finds the shop by its place, its type and its
// words, as [Service.afterEdit] explains.
//
// Bounds that the shop breaks are a [fault.UserErrors] with all of them; so is a shop
// above the editor's hourly limit, with [quota.LimitReached]. Any other error means that
// the database failed. Calling it again makes another shop.
func (s *Service) Create(ctx context.Context, by Editor, d Details) (*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.Create")
	defer span.End()
	ctx, whole, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	c := d.changes().clean()
	typeExists, err := s.hasType(ctx, c)
	if err != nil {
		return nil, err
	}
	known, err := s.pictureSizes(ctx, mediapath.Editor{UserID: by.UserID}, c)
	if err != nil {
		return nil, err
	}
	if err := c.check(&ent.Shop{}, typeExists, known).OrNil(); err != nil {
		return nil, err
	}
	row := c.apply(ent.Shop{}, known)
	var stored *Shop
	var job []outbox.JobRef
	use := s.quota.Take(ctx, by.UserID) // counted while the transaction begins
	err = ent.WithTx(whole, s.db, func(tx *ent.Tx) (err error) {
		// Before the first row lock. SQLite holds its write lock meanwhile, at most the
		// deadline of the count.
		if err := use.Wait(); err != nil {
			return err
		}
		insert := tx.Shop.Create().SetOwnerID(by.UserID)
		write(insert.Mutation(), &row)
		inserted, err := insert.Save(whole)
		if err != nil {
			return err
		}
		if stored, err = fromRow(inserted); err != nil {
			return err
		}
		if err := s.pictures.Show(whole, tx, map[int64]mediapath.Shown{stored.ID: {By: mediapath.Editor{UserID: by.UserID}, Paths: d.Images}}); err != nil {
			return err
		}
		job, err = outbox.AddBatch(whole, s.outbox, tx, shopsChanged, stored.ID)
		return err
	})
	if err != nil {
		use.Release(ctx)
		return nil, fmt.Errorf("insert a shop of user %d: %w", by.UserID, err)
	}
	s.afterEdit(whole, stored, job)
	return stored, nil
}

// Update changes a shop and returns it as stored. Updates of one shop follow
// each other: what one of them leaves alone stays as another has made it. When
// it returns, every process sees the shop as it is now, as [Service.afterEdit]
// explains. An update that changes nothing writes nothing, but tells Redis all
// the same: the row may have been changed past this program.
//
// Without such a shop, or with changes that break a bound (all of them at
// once), it returns a [fault.UserErrors]; a [fault.Forbidden] if the shop is not
// the editor's. Any other error means that the database failed.
func (s *Service) Update(ctx context.Context, by Editor, id int64, c Changes) (*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.Update")
	defer span.End()
	ctx, whole, cancel := clock.SplitDeadline(ctx, editTimeout, editTimeout)
	defer cancel()
	c = c.clean()
	typeExists, err := s.hasType(ctx, c) // before the row is locked
	if err != nil {
		return nil, err
	}
	known, err := s.pictureSizes(ctx, mediapath.Editor{UserID: by.UserID, ThingID: id}, c)
	if err != nil {
		return nil, err
	}
	var stored *Shop
	var job []outbox.JobRef
	err = ent.WithTx(whole, s.db, func(tx *ent.Tx) (err error) {
		stored, job, err = s.update(ctx, tx, by, id, c, typeExists, known)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change shop %d: %w", id, err)
	}
	s.afterEdit(whole, stored, job)
	return stored, nil
}

// update is the transaction of Update. Without a change there is no job.
func (s *Service) update(ctx context.Context, tx *ent.Tx, by Editor, id int64, c Changes, typeExists bool, known map[string]mediapath.Size) (*Shop, []outbox.JobRef, error) {
	one := tx.Shop.Query().Where(entshop.ID(id))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil, apierror.Refuse(apierror.NotFound, "There is no such shop.", "input", "id")
	case err != nil:
		return nil, nil, fmt.Errorf("select it: %w", err)
	case !by.IsAdmin && (row.OwnerID == nil || *row.OwnerID != by.UserID):
		return nil, nil, apierror.New(apierror.Forbidden, "Only its owner may change a shop.")
	}
	before, err := fromRow(row)
	if err != nil {
		return nil, nil, err
	}
	known, shown := withOwn(known, before, c)
	if err := c.check(row, typeExists, known).OrNil(); err != nil {
		return nil, nil, err
	}
	next := c.apply(*row, known)
	after, err := fromRow(&next)
	if err != nil {
		return nil, nil, err
	}
	if next.Search == row.Search && reflect.DeepEqual(after, before) {
		return before, nil, nil
	}
	if c.Images.Given {
		if err := s.pictures.Show(ctx, tx, map[int64]mediapath.Shown{id: {By: mediapath.Editor{UserID: by.UserID}, Paths: shown}}); err != nil {
			return nil, nil, err
		}
	}
	change := tx.Shop.UpdateOneID(id)
	write(change.Mutation(), &next)
	change.AddVersion(1)
	if row, err = change.Save(ctx); err != nil {
		return nil, nil, fmt.Errorf("update it: %w", err)
	}
	if after, err = fromRow(row); err != nil {
		return nil, nil, err
	}
	job, err := outbox.AddBatch(context.WithoutCancel(ctx), s.outbox, tx, shopsChanged, id)
	return after, job, err
}

// pictureSizes returns those of the pictures in changes that the editor may show.
func (s *Service) pictureSizes(ctx context.Context, by mediapath.Editor, c Changes) (map[string]mediapath.Size, error) {
	return s.pictures.Known(ctx, by, optional.Value(c.Images.Value))
}

// withOwn adds the pictures that the row has already, which a form may send back, to those
// that are kept here; the latter among the changes are what it shows from now on. A picture
// of an earlier release is kept nowhere.
func withOwn(known map[string]mediapath.Size, before *Shop, c Changes) (all map[string]mediapath.Size, shown []string) {
	all = maps.Clone(known)
	if all == nil {
		all = map[string]mediapath.Size{}
	}
	for _, i := range before.Images {
		if _, ok := known[i.URL]; !ok {
			all[i.URL] = mediapath.Size{Width: optional.Value(i.Width), Height: optional.Value(i.Height)}
		}
	}
	for _, path := range optional.Value(c.Images.Value) {
		if _, ok := known[path]; ok {
			shown = append(shown, path)
		}
	}
	return all, shown
}

// DropImage removes a deleted picture from a shop. Every process sees the shop without it
// when DropImage returns, as [Service.afterEdit] explains. It may be repeated.
func (s *Service) DropImage(ctx context.Context, id int64, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), editTimeout)
	defer cancel()
	var stored *Shop
	var job []outbox.JobRef
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		stored = nil
		one := tx.Shop.Query().Where(entshop.ID(id))
		one.Modify(sqldb.ForUpdate)
		before, err := one.Only(ctx)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		left, found, err := mediapath.Without(before.Images, path)
		if err != nil || !found {
			return err
		}
		row, err := tx.Shop.UpdateOneID(id).SetImages(left).AddVersion(1).Save(ctx)
		if err != nil {
			return err
		}
		if stored, err = fromRow(row); err != nil {
			return err
		}
		job, err = outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove a picture from shop %d: %w", id, err)
	}
	if stored != nil {
		s.afterEdit(ctx, stored, job)
	}
	return nil
}
