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

// editTimeout lets one call of Create or Update take at most five seconds: the last call
// to Redis may begin just before the deadline.
const editTimeout = 5*time.Second - redisTimeout

// Editor is the user who edits a shop.
type Editor struct {
	UserID  int64
	IsAdmin bool // may edit any shop
}

// Create stores a shop owned by its editor and returns it as stored. After Create returns,
// searches by position, type and text are as fresh as [Service.ByID]. If Redis fails, the
// outbox updates it later.
//
// It returns an [apierror.UserErrors] with all invalid fields. Above the editor's hourly
// limit, it returns one with [quota.LimitReached]. All other errors come from the
// database. Create is not idempotent.
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
	row := c.apply(ent.Shop{}, known, s.zones)
	var stored *Shop
	var job []outbox.JobRef
	use := s.quota.Take(ctx, by.UserID) // runs while the transaction begins
	err = ent.WithTx(whole, s.db, func(tx *ent.Tx) (err error) {
		// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until the
		// deadline of the limiter.
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
		if err := s.pictures.SetUsed(whole, tx, map[int64]mediapath.Usage{stored.ID: {By: mediapath.Editor{UserID: by.UserID}, Paths: d.Images}}); err != nil {
			return err
		}
		job, err = outbox.AddBatch(whole, s.outbox, tx, shopsChanged, stored.ID)
		return err
	})
	if err != nil {
		use.Release(ctx)
		return nil, fmt.Errorf("insert shop of user %d: %w", by.UserID, err)
	}
	s.afterEdit(whole, stored, job)
	return stored, nil
}

// Update changes a shop and returns it as stored. Concurrent updates of one shop run one
// after the other, and each writes only its own fields. Reads see the changes as after
// [Service.Create]. An update without changes writes nothing, but invalidates the cache:
// the row may have changed outside this program.
//
// It returns an [apierror.UserErrors] if the shop does not exist, or with all invalid
// fields. It returns an [apierror.Forbidden] error if the editor is not the owner. All
// other errors come from the database.
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
	known, err := s.pictureSizes(ctx, mediapath.Editor{UserID: by.UserID, ItemID: id}, c)
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
		return nil, fmt.Errorf("update shop %d: %w", id, err)
	}
	s.afterEdit(whole, stored, job)
	return stored, nil
}

// update is the transaction of Update. It returns no job if nothing changed.
func (s *Service) update(ctx context.Context, tx *ent.Tx, by Editor, id int64, c Changes, typeExists bool, known map[string]mediapath.Size) (*Shop, []outbox.JobRef, error) {
	one := tx.Shop.Query().Where(entshop.ID(id))
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil, apierror.Refuse(apierror.NotFound, "Shop not found.", "input", "id")
	case err != nil:
		return nil, nil, fmt.Errorf("select row: %w", err)
	case !by.IsAdmin && (row.OwnerID == nil || *row.OwnerID != by.UserID):
		return nil, nil, apierror.New(apierror.Forbidden, "Only the owner can change this shop.")
	}
	before, err := fromRow(row)
	if err != nil {
		return nil, nil, err
	}
	known, shown := withOwn(known, before, c)
	if err := c.check(row, typeExists, known).OrNil(); err != nil {
		return nil, nil, err
	}
	next := c.apply(*row, known, s.zones)
	after, err := fromRow(&next)
	if err != nil {
		return nil, nil, err
	}
	if next.Search == row.Search && reflect.DeepEqual(after, before) {
		return before, nil, nil
	}
	if c.Images.Given {
		if err := s.pictures.SetUsed(ctx, tx, map[int64]mediapath.Usage{id: {By: mediapath.Editor{UserID: by.UserID}, Paths: shown}}); err != nil {
			return nil, nil, err
		}
	}
	change := tx.Shop.UpdateOneID(id)
	write(change.Mutation(), &next)
	change.AddVersion(1)
	if row, err = change.Save(ctx); err != nil {
		return nil, nil, fmt.Errorf("update row: %w", err)
	}
	if after, err = fromRow(row); err != nil {
		return nil, nil, err
	}
	job, err := outbox.AddBatch(context.WithoutCancel(ctx), s.outbox, tx, shopsChanged, id)
	return after, job, err
}

func (s *Service) pictureSizes(ctx context.Context, by mediapath.Editor, c Changes) (map[string]mediapath.Size, error) {
	return s.pictures.Sizes(ctx, by, optional.Value(c.Images.Value))
}

// withOwn adds the current images of the shop to known, because a form may send them back.
// shown lists the uploaded images in c. It omits images of earlier releases, which have no
// upload.
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

// DropImage removes a deleted image from a shop. Reads see the change as after
// [Service.Create]. It is idempotent.
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
		return fmt.Errorf("remove image from shop %d: %w", id, err)
	}
	if stored != nil {
		s.afterEdit(ctx, stored, job)
	}
	return nil
}
