package media

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/pictureuse"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/ent/shoptype"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	scanPage  = 500
	scanRate  = 5000 // things a second
	scanLimit = 30 * time.Second
)

// Scans are what this room compares: what is written down as shown, with what is. Rows
// that somebody changed past the program would else lose their pictures, or keep them for
// ever.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{{
		Name: "picture-uses", Description: "what shops, types, notes and users show, with what is written down of it", Rate: scanRate, Run: func(ctx context.Context, r *reconcile.Run) error {
			for _, k := range []Kind{OfShop, OfShopType, OfNote, OfUser} {
				if err := s.scanOwners(ctx, r, k); err != nil {
					return err
				}
				if err := s.scanUses(ctx, r, k); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// A owner shows pictures.
type owner struct {
	id    int64
	paths []string
}

// scanOwners walks over all things of a kind that there are.
func (s *Service) scanOwners(ctx context.Context, r *reconcile.Run, k Kind) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		page, err := s.things(ctx, s.db, k, thingsBehind(after, scanPage))
		if err != nil {
			return err
		}
		if n = len(page); n == 0 {
			return nil
		}
		after = page[n-1].id
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		ids := make([]int64, n)
		for i, t := range page {
			ids[i] = t.id
		}
		uses, err := s.uses(ctx, s.db, k, ids)
		if err != nil {
			return err
		}
		for _, t := range page {
			if !same(t.paths, uses[t.id]) {
				if err := s.settle(ctx, r, k, t.id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanUses walks over what is written down, for things that there are no more.
func (s *Service) scanUses(ctx context.Context, r *reconcile.Run, k Kind) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		page, err := s.db.PictureUse.Query().Where(pictureuse.KindEQ(k), pictureuse.IDGT(after)).Order(pictureuse.ByID()).Limit(scanPage).All(ctx)
		if err != nil {
			return fmt.Errorf("read what pictures are shown: %w", err)
		}
		if n = len(page); n == 0 {
			return nil
		}
		after = page[n-1].ID
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		var owners []int64
		for _, use := range page {
			owners = append(owners, use.OwnerID)
		}
		slices.Sort(owners)
		owners = slices.Compact(owners)
		there, err := s.things(ctx, s.db, k, thingsOf(owners))
		if err != nil {
			return err
		}
		for _, id := range owners {
			if !slices.ContainsFunc(there, func(t owner) bool { return t.id == id }) {
				if err := s.settle(ctx, r, k, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// settle looks at one thing again while its row is locked, and sets right what is written
// down of it. A picture that is gone cannot come back.
func (s *Service) settle(ctx context.Context, r *reconcile.Run, k Kind, owner int64) error {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	return ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		now, err := s.things(ctx, tx.Client(), k, thingLocked(owner))
		if err != nil {
			return err
		}
		var paths []string
		for _, t := range now {
			names, _ := namesOf(t.paths)
			paths = slices.DeleteFunc(t.paths, func(path string) bool { _, ok := names[path]; return !ok })
		}
		uses, err := s.uses(ctx, tx.Client(), k, []int64{owner})
		if err != nil || same(paths, uses[owner]) {
			return err
		}
		names, ids := namesOf(paths)
		there, err := lock(ctx, tx, ids)
		if err != nil {
			return err
		}
		here := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return there[names[path]] == nil })
		if n := len(paths) - len(here); n > 0 {
			r.Report(fmt.Sprintf("%s %d: it shows %d pictures that are not here", k, owner, n))
		}
		if same(here, uses[owner]) {
			return nil
		}
		r.Report(fmt.Sprintf("%s %d: it shows %d pictures, and %d are written down", k, owner, len(here), len(uses[owner])))
		if r.DryRun {
			return nil
		}
		if err := (Usages{s, k}).Show(ctx, tx, map[int64]mediapath.Shown{owner: {By: mediapath.Program(), Paths: here}}); err != nil {
			return err
		}
		r.CountRepaired(1)
		return nil
	})
}

// uses returns the pictures that are written down, by owner, in the order of ids.
func (s *Service) uses(ctx context.Context, db *ent.Client, k Kind, owners []int64) (map[int64][]int64, error) {
	rows, err := db.PictureUse.Query().Where(pictureuse.KindEQ(k), pictureuse.OwnerIDIn(owners...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what %d things show: %w", len(owners), err)
	}
	of := make(map[int64][]int64)
	for _, r := range rows {
		of[r.OwnerID] = append(of[r.OwnerID], r.PictureID)
	}
	return of, nil
}

// same says whether paths name exactly some pictures. What has a path of another sort is
// no picture of this room.
func same(paths []string, pictures []int64) bool {
	_, ids := namesOf(paths)
	return slices.Equal(ids, slices.Sorted(slices.Values(pictures)))
}

// A ownerFilter of things: those behind an id, or some.
type ownerFilter struct {
	after  int64
	most   int
	ids    []int64
	locked bool
}

func thingsBehind(after int64, most int) ownerFilter { return ownerFilter{after: after, most: most} }

func thingsOf(ids []int64) ownerFilter { return ownerFilter{ids: ids, most: len(ids)} }

func thingLocked(id int64) ownerFilter { return ownerFilter{ids: []int64{id}, most: 1, locked: true} }

// pick has a statement read what is chosen, in the order of ids: all tables of things have
// a column of that name.
func (c ownerFilter) pick(s *sql.Selector) {
	const id = "id"
	sql.FieldGT(id, c.after)(s)
	if c.ids != nil {
		sql.FieldIn(id, c.ids...)(s)
	}
	s.OrderBy(s.C(id)).Limit(c.most)
	if c.locked {
		sqldb.ForUpdate(s)
	}
}

// things reads what there is of a kind, in the order of ids. A note that was deleted is not
// there.
func (*Service) things(ctx context.Context, db *ent.Client, k Kind, c ownerFilter) (all []owner, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	switch k {
	case OfShop:
		rows, e := db.Shop.Query().Where(c.pick).Select(entshop.FieldID, entshop.FieldImages).All(ctx)
		err = e
		for _, r := range rows {
			paths, e := mediapath.PathsOf(r.Images)
			if e != nil {
				return nil, fmt.Errorf("read %s %d: %w", k, r.ID, e)
			}
			all = append(all, owner{r.ID, paths})
		}
	case OfNote:
		rows, e := db.Note.Query().Where(c.pick, entnote.DeletedAtIsNil()).Select(entnote.FieldID, entnote.FieldImages).All(ctx)
		err = e
		for _, r := range rows {
			paths, e := mediapath.PathsOf(r.Images)
			if e != nil {
				return nil, fmt.Errorf("read %s %d: %w", k, r.ID, e)
			}
			all = append(all, owner{r.ID, paths})
		}
	case OfUser:
		rows, e := db.User.Query().Where(c.pick).Select(entuser.FieldID, entuser.FieldAvatarURL).All(ctx)
		err = e
		for _, r := range rows {
			all = append(all, owner{r.ID, given(r.AvatarURL)})
		}
	case OfShopType:
		rows, e := db.ShopType.Query().Where(c.pick).Select(shoptype.FieldID, shoptype.FieldIconURL).All(ctx)
		err = e
		for _, r := range rows {
			all = append(all, owner{r.ID, given(r.IconURL)})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what pictures are shown by a %s: %w", k, err)
	}
	return all, nil
}

func given(path *string) []string {
	if path == nil {
		return nil
	}
	return []string{*path}
}
