package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

const (
	upsertBatch     = 500              // rows in one statement
	upsertTimeout   = 10 * time.Minute // of one call of Upsert
	invalidateTries = 5
)

// Upsert stores drafts in one transaction, whatever their number: those with a
// new external id are added, those that differ from their row change it, the
// rest is left alone, and so is every shop that has an owner: it is the owner's
// to change. It calls progress with the number done after each batch.
// Then, after the commit, it drops what was cached of those that it wrote and puts
// them into the GEO cells. What Redis could not be told is left to the outbox.
//
// A draft that breaks a bound of this package is an error, and nothing is
// stored. Of drafts with the same external id the last one counts.
func (s *Service) Upsert(ctx context.Context, drafts []Draft, progress func(done int)) (SaveCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, upsertTimeout)
	defer cancel()
	types, err := s.typesByKey(ctx)
	if err != nil {
		return SaveCounts{}, err
	}
	known, err := s.draftPictures(ctx, drafts)
	if err != nil {
		return SaveCounts{}, err
	}
	for i := range drafts {
		if err := drafts[i].check(types); err != nil {
			return SaveCounts{}, fmt.Errorf("draft %d (%s): %w", i, drafts[i].ExternalID, err)
		}
	}
	// Rows are locked in one order, so that two imports cannot wait for each other.
	drafts = sortedUnique(drafts)
	var sum SaveCounts
	var stored []geoEntry
	var ids []int64 // of them
	var jobs []outbox.JobRef
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		done := 0
		for batch := range slices.Chunk(drafts, upsertBatch) {
			written, counts, err := s.upsertRows(ctx, tx, batch, types, known)
			if err != nil {
				return err
			}
			stored, sum = append(stored, written...), sum.Add(counts)
			done += len(batch)
			progress(done)
		}
		for _, p := range stored {
			ids = append(ids, p.id)
		}
		jobs, err = outbox.AddBatch(ctx, s.outbox, tx, shopsChanged, ids...)
		return err
	})
	if err != nil {
		return SaveCounts{}, fmt.Errorf("store %d shops: %w", len(drafts), err)
	}
	if len(stored) > 0 {
		s.outbox.Finish(ctx, s.invalidateRetrying(ctx, ids, stored), jobs...)
	}
	return sum, nil
}

// invalidateRetrying tries a few times: a hiccup of Redis should not leave a long import to
// others.
func (s *Service) invalidateRetrying(ctx context.Context, ids []int64, stored []geoEntry) (err error) {
	for range invalidateTries {
		if err = s.invalidate(ctx, ids, stored); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// draftPictures looks for the pictures that drafts name.
func (s *Service) draftPictures(ctx context.Context, drafts []Draft) (map[string]mediapath.Size, error) {
	var paths []string
	for _, d := range drafts {
		paths = append(paths, d.Images...)
	}
	return s.pictures.Known(ctx, mediapath.Program(), slices.Compact(slices.Sorted(slices.Values(paths))))
}

func (s *Service) typesByKey(ctx context.Context) (map[string]int64, error) {
	rows, err := s.db.ShopType.Query().All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shop types: %w", err)
	}
	types := make(map[string]int64, len(rows))
	for _, r := range rows {
		types[r.Key] = r.ID
	}
	return types, nil
}

// check returns an error if the draft breaks a bound.
func (d *Draft) check(types map[string]int64) error {
	switch {
	case d.ExternalID == "" || len(d.ExternalID) > 200:
		return errors.New("the external id has 1 to 200 bytes")
	case types[d.Type] == 0:
		return fmt.Errorf("there is no shop type %q", d.Type)
	case d.Name == "":
		return errors.New("it has no name")
	case text.Len(d.Name) > MaxName, text.Len(d.Area) > MaxArea, text.Len(d.Address) > MaxAddress, text.Len(d.OpenHours) > MaxOpenHours:
		return errors.New("a text is too long")
	case !d.at().Valid():
		return fmt.Errorf("its position %v, %v is not on the map", d.Lat, d.Lng)
	case !(d.Score >= 0 && d.Score <= MaxScore):
		return fmt.Errorf("its score %v is not 0 to %v", d.Score, MaxScore)
	case d.AvgPrice != nil && !validPrice(*d.AvgPrice):
		return fmt.Errorf("its price %d is not 0 to %d", *d.AvgPrice, MaxAvgPrice)
	}
	return nil
}

func (d *Draft) at() geo.Point { return geo.Point{Lat: d.Lat, Lng: d.Lng} }

// sortedUnique sorts a copy of drafts by external id and keeps the last of equal ones.
func sortedUnique(drafts []Draft) []Draft {
	sorted := slices.Clone(drafts)
	slices.SortStableFunc(sorted, func(a, b Draft) int { return cmp.Compare(a.ExternalID, b.ExternalID) })
	unique := sorted[:0]
	for i, d := range sorted {
		if i+1 == len(sorted) || sorted[i+1].ExternalID != d.ExternalID {
			unique = append(unique, d)
		}
	}
	return unique
}

// upsertRows writes one batch and returns what it wrote. Rows that are as the draft says are not touched,
// which also keeps the database from burning an id for each of them.
func (s *Service) upsertRows(ctx context.Context, tx *ent.Tx, batch []Draft, types map[string]int64, known map[string]mediapath.Size) ([]geoEntry, SaveCounts, error) {
	before, err := rowsOf(ctx, tx, batch)
	if err != nil {
		return nil, SaveCounts{}, err
	}
	if renamed, err := renameFormer(ctx, tx, batch, before); err != nil {
		return nil, SaveCounts{}, err
	} else if renamed {
		if before, err = rowsOf(ctx, tx, batch); err != nil {
			return nil, SaveCounts{}, err
		}
	}
	var counts SaveCounts
	var writes []*ent.ShopCreate
	var written []string
	for _, d := range batch {
		old := before[d.ExternalID]
		switch {
		case old == nil:
			counts.Added++
		case old.OwnerID != nil, d.is(old, types):
			counts.Unchanged++
			continue
		default:
			counts.Changed++
		}
		writes, written = append(writes, d.create(tx, types, known)), append(written, d.ExternalID)
	}
	after := before
	if len(writes) > 0 {
		err := tx.Shop.CreateBulk(writes...).OnConflictColumns(entshop.FieldExternalID).Update(setFromDraft).Exec(ctx)
		if err != nil {
			return nil, SaveCounts{}, fmt.Errorf("upsert %d rows: %w", len(writes), err)
		}
		if after, err = rowsOf(ctx, tx, batch); err != nil {
			return nil, SaveCounts{}, err
		}
	}
	shown := map[int64]mediapath.Shown{}
	for _, d := range batch {
		if before[d.ExternalID] == nil && len(d.Images) > 0 && after[d.ExternalID] != nil {
			shown[after[d.ExternalID].ID] = mediapath.Shown{By: mediapath.Program(), Paths: d.Images}
		}
	}
	if err := s.pictures.Show(ctx, tx, shown); err != nil {
		return nil, SaveCounts{}, err
	}
	done := make([]geoEntry, len(written))
	for i, name := range written {
		row := after[name]
		if row == nil {
			return nil, SaveCounts{}, fmt.Errorf("shop %s vanished while it was written", name)
		}
		done[i] = entryOf(row)
	}
	return done, counts, nil
}

// renameFormer gives rows that have a draft's former external id the present one.
func renameFormer(ctx context.Context, tx *ent.Tx, batch []Draft, before map[string]*ent.Shop) (renamed bool, err error) {
	for _, d := range batch {
		if d.FormerID == "" || before[d.ExternalID] != nil {
			continue
		}
		n, err := tx.Shop.Update().Where(entshop.ExternalID(d.FormerID)).SetExternalID(d.ExternalID).Save(ctx)
		if err != nil {
			return false, fmt.Errorf("rename shop %s to %s: %w", d.FormerID, d.ExternalID, err)
		}
		renamed = renamed || n > 0
	}
	return renamed, nil
}

// rowsOf reads the rows that a batch names.
func rowsOf(ctx context.Context, tx *ent.Tx, batch []Draft) (map[string]*ent.Shop, error) {
	names := make([]string, len(batch))
	for i, d := range batch {
		names[i] = d.ExternalID
	}
	rows, err := tx.Shop.Query().Where(entshop.ExternalIDIn(names...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d rows: %w", len(batch), err)
	}
	found := make(map[string]*ent.Shop, len(rows))
	for _, r := range rows {
		found[*r.ExternalID] = r
	}
	return found, nil
}

// is says whether the row has everything that the draft says of a row that
// exists.
func (d *Draft) is(r *ent.Shop, types map[string]int64) bool {
	return r.TypeID == types[d.Type] && r.Name == d.Name && r.Address == d.Address &&
		optional.Value(r.Area) == d.Area && optional.Value(r.OpenHours) == d.OpenHours &&
		r.Lat == d.Lat && r.Lng == d.Lng && r.Score == d.Score &&
		(r.AvgPrice == nil) == (d.AvgPrice == nil) && optional.Value(r.AvgPrice) == optional.Value(d.AvgPrice) &&
		r.Search == searchText(d.Name, d.Area, d.Address)
}

func (d *Draft) create(tx *ent.Tx, types map[string]int64, known map[string]mediapath.Size) *ent.ShopCreate {
	return tx.Shop.Create().
		SetExternalID(d.ExternalID).SetNillableOwnerID(optional.OrNil(d.OwnerID)).SetTypeID(types[d.Type]).SetName(d.Name).
		SetNillableArea(optional.OrNil(d.Area)).SetAddress(d.Address).
		SetLat(d.Lat).SetLng(d.Lng).SetGeo(geo.Hash(d.at())).
		SetNillableAvgPrice(d.AvgPrice).SetScore(d.Score).SetNillableOpenHours(optional.OrNil(d.OpenHours)).
		SetSearch(searchText(d.Name, d.Area, d.Address)).SetImages(mediapath.Column(d.Images, known))
}

// setFromDraft names the columns that a draft decides on a row that exists: all
// but the owner and the pictures.
func setFromDraft(u *ent.ShopUpsert) {
	u.UpdateTypeID().UpdateName().UpdateArea().UpdateAddress().UpdateLat().UpdateLng().UpdateGeo().
		UpdateAvgPrice().UpdateScore().UpdateOpenHours().UpdateSearch().UpdateUpdatedAt().AddVersion(1)
}
