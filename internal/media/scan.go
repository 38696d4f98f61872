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
	scanPage    = 500
	scanRate    = 5000 // things per second
	scanTimeout = 30 * time.Second
)

// Scans returns the reconcile scan of picture uses. Without it, rows changed outside the program
// could lose pictures, or retain them forever.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{{
		Name: "picture-uses", Description: "pictures of shops, types, notes and users, with their recorded uses", Rate: scanRate, Run: func(ctx context.Context, r *reconcile.Run) error {
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

// An owner is a thing with its pictures.
type owner struct {
	id    int64
	paths []string
}

func (s *Service) scanOwners(ctx context.Context, r *reconcile.Run, k Kind) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		page, err := s.readOwners(ctx, s.db, k, ownersAfter(after, scanPage))
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
		uses, err := s.readUses(ctx, s.db, k, ids)
		if err != nil {
			return err
		}
		for _, t := range page {
			if !usesMatch(t.paths, uses[t.id]) {
				if err := s.repairOwner(ctx, r, k, t.id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanUses finds uses of things that do not exist.
func (s *Service) scanUses(ctx context.Context, r *reconcile.Run, k Kind) error {
	for after, n := int64(0), scanPage; n == scanPage; {
		page, err := s.db.PictureUse.Query().Where(pictureuse.KindEQ(k), pictureuse.IDGT(after)).Order(pictureuse.ByID()).Limit(scanPage).All(ctx)
		if err != nil {
			return fmt.Errorf("read picture uses: %w", err)
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
		there, err := s.readOwners(ctx, s.db, k, ownersByID(owners))
		if err != nil {
			return err
		}
		for _, id := range owners {
			if !slices.ContainsFunc(there, func(t owner) bool { return t.id == id }) {
				if err := s.repairOwner(ctx, r, k, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// repairOwner compares one thing again while its row is locked, and repairs its uses. Missing
// pictures cannot be restored.
func (s *Service) repairOwner(ctx context.Context, r *reconcile.Run, k Kind, owner int64) error {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	return ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		now, err := s.readOwners(ctx, tx.Client(), k, lockedOwner(owner))
		if err != nil {
			return err
		}
		var paths []string
		for _, t := range now {
			names, _ := namesOf(t.paths)
			paths = slices.DeleteFunc(t.paths, func(path string) bool { _, ok := names[path]; return !ok })
		}
		uses, err := s.readUses(ctx, tx.Client(), k, []int64{owner})
		if err != nil || usesMatch(paths, uses[owner]) {
			return err
		}
		names, ids := namesOf(paths)
		there, err := lock(ctx, tx, ids)
		if err != nil {
			return err
		}
		here := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return there[names[path]] == nil })
		if n := len(paths) - len(here); n > 0 {
			r.Report(fmt.Sprintf("%s %d: %d pictures are missing", k, owner, n))
		}
		if usesMatch(here, uses[owner]) {
			return nil
		}
		r.Report(fmt.Sprintf("%s %d: %d pictures are shown, %d are recorded", k, owner, len(here), len(uses[owner])))
		if r.DryRun {
			return nil
		}
		if err := (Usages{s, k}).SetUsed(ctx, tx, map[int64]mediapath.Usage{owner: {By: mediapath.SeedEditor(), Paths: here}}); err != nil {
			return err
		}
		r.CountRepaired(1)
		return nil
	})
}

func (s *Service) readUses(ctx context.Context, db *ent.Client, k Kind, owners []int64) (map[int64][]int64, error) {
	rows, err := db.PictureUse.Query().Where(pictureuse.KindEQ(k), pictureuse.OwnerIDIn(owners...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read picture uses of %d owners: %w", len(owners), err)
	}
	of := make(map[int64][]int64)
	for _, r := range rows {
		of[r.OwnerID] = append(of[r.OwnerID], r.PictureID)
	}
	return of, nil
}

// usesMatch reports whether paths name exactly these pictures. It ignores paths in another format.
func usesMatch(paths []string, pictures []int64) bool {
	_, ids := namesOf(paths)
	return slices.Equal(ids, slices.Sorted(slices.Values(pictures)))
}

// An ownerFilter selects the things after an id, or those with some ids.
type ownerFilter struct {
	after  int64
	limit  int
	ids    []int64
	locked bool
}

func ownersAfter(after int64, limit int) ownerFilter { return ownerFilter{after: after, limit: limit} }

func ownersByID(ids []int64) ownerFilter { return ownerFilter{ids: ids, limit: len(ids)} }

func lockedOwner(id int64) ownerFilter { return ownerFilter{ids: []int64{id}, limit: 1, locked: true} }

// apply adds the filter to a statement, ordered by id. All tables of things have an id column.
func (c ownerFilter) apply(s *sql.Selector) {
	const id = "id"
	sql.FieldGT(id, c.after)(s)
	if c.ids != nil {
		sql.FieldIn(id, c.ids...)(s)
	}
	s.OrderBy(s.C(id)).Limit(c.limit)
	if c.locked {
		sqldb.ForUpdate(s)
	}
}

// readOwners reads the things of a kind that match a filter, by id, without deleted notes.
func (*Service) readOwners(ctx context.Context, db *ent.Client, k Kind, c ownerFilter) (all []owner, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	switch k {
	case OfShop:
		rows, e := db.Shop.Query().Where(c.apply).Select(entshop.FieldID, entshop.FieldImages).All(ctx)
		err = e
		for _, r := range rows {
			paths, e := mediapath.PathsOf(r.Images)
			if e != nil {
				return nil, fmt.Errorf("read %s %d: %w", k, r.ID, e)
			}
			all = append(all, owner{r.ID, paths})
		}
	case OfNote:
		rows, e := db.Note.Query().Where(c.apply, entnote.DeletedAtIsNil()).Select(entnote.FieldID, entnote.FieldImages).All(ctx)
		err = e
		for _, r := range rows {
			paths, e := mediapath.PathsOf(r.Images)
			if e != nil {
				return nil, fmt.Errorf("read %s %d: %w", k, r.ID, e)
			}
			all = append(all, owner{r.ID, paths})
		}
	case OfUser:
		rows, e := db.User.Query().Where(c.apply).Select(entuser.FieldID, entuser.FieldAvatarURL).All(ctx)
		err = e
		for _, r := range rows {
			all = append(all, owner{r.ID, optionalPath(r.AvatarURL)})
		}
	case OfShopType:
		rows, e := db.ShopType.Query().Where(c.apply).Select(shoptype.FieldID, shoptype.FieldIconURL).All(ctx)
		err = e
		for _, r := range rows {
			all = append(all, owner{r.ID, optionalPath(r.IconURL)})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read pictures of %s: %w", k, err)
	}
	return all, nil
}

func optionalPath(path *string) []string {
	if path == nil {
		return nil
	}
	return []string{*path}
}
