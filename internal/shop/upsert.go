package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	upsertBatch     = 500              // rows per statement
	upsertTimeout   = 10 * time.Minute // per call
	invalidateTries = 5
)

// Upsert stores drafts in one transaction. It inserts drafts with a new external id and
// updates rows that differ from their draft. It does not change shops that have an owner.
// After each batch it calls progress with the number of drafts done.
//
// After the commit it invalidates the cached shops and adds them to the GEO cells. If Redis
// fails, the outbox retries.
//
// An invalid draft is an error, and nothing is stored. The last of several drafts with the
// same external id wins.
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
	// Lock rows in one order, so that concurrent imports do not deadlock.
	drafts = sortedUnique(drafts)
	var sum SaveCounts
	var stored []geoEntry
	var ids []int64 // of stored
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

// invalidateRetrying invalidates shops. It retries at once, because the outbox is slow for
// a long import.
func (s *Service) invalidateRetrying(ctx context.Context, ids []int64, stored []geoEntry) (err error) {
	for range invalidateTries {
		if err = s.invalidate(ctx, ids, stored); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (s *Service) draftPictures(ctx context.Context, drafts []Draft) (map[string]mediapath.Size, error) {
	var paths []string
	for _, d := range drafts {
		paths = append(paths, d.Images...)
	}
	return s.pictures.Sizes(ctx, mediapath.SeedEditor(), slices.Compact(slices.Sorted(slices.Values(paths))))
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

func (d *Draft) check(types map[string]int64) error {
	switch {
	case d.ExternalID == "" || len(d.ExternalID) > 200:
		return errors.New("external id must be 1 to 200 bytes")
	case types[d.Type] == 0:
		return fmt.Errorf("unknown shop type %q", d.Type)
	case d.Name == "":
		return errors.New("name is empty")
	case text.Len(d.Name) > MaxName, text.Len(d.Area) > MaxArea, text.Len(d.Address) > MaxAddress, text.Len(d.OpenHours) > MaxOpenHours, text.Len(d.Phone) > MaxPhone:
		return errors.New("text is too long")
	case d.Website != "" && !validWebsite(d.Website):
		return fmt.Errorf("invalid website %q", d.Website)
	case d.TimeZone != "" && !validZone(d.TimeZone):
		return fmt.Errorf("unknown time zone %q", d.TimeZone)
	case !d.at().Valid():
		return fmt.Errorf("invalid position: latitude %v, longitude %v", d.Lat, d.Lng)
	case !(d.Score >= 0 && d.Score <= MaxScore):
		return fmt.Errorf("score %v must be 0 to %v", d.Score, MaxScore)
	case d.AvgPrice != nil && !validPrice(*d.AvgPrice):
		return fmt.Errorf("average price %d must be 0 to %d", *d.AvgPrice, MaxAvgPrice)
	}
	return nil
}

func (d *Draft) openMask(zones *zones) *string {
	return openMask(optional.OrNil(d.OpenHours), zones.location(d.TimeZone))
}

func (d *Draft) at() geo.Point { return geo.Point{Lat: d.Lat, Lng: d.Lng} }

// sortedUnique returns drafts sorted by external id, with the last of equal ones.
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

// upsertRows stores one batch and returns the entries that it wrote. It skips unchanged
// rows, which also saves an id of the sequence for each.
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
		case old.OwnerID != nil, d.is(old, types, s.zones):
			counts.Unchanged++
			continue
		default:
			counts.Changed++
		}
		writes, written = append(writes, d.create(tx, types, known, s.zones)), append(written, d.ExternalID)
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
		if err := s.changePriors(ctx, tx, before, after); err != nil {
			return nil, SaveCounts{}, err
		}
	}
	shown := map[int64]mediapath.Usage{}
	for _, d := range batch {
		if before[d.ExternalID] == nil && len(d.Images) > 0 && after[d.ExternalID] != nil {
			shown[after[d.ExternalID].ID] = mediapath.Usage{By: mediapath.SeedEditor(), Paths: d.Images}
		}
	}
	if err := s.pictures.SetUsed(ctx, tx, shown); err != nil {
		return nil, SaveCounts{}, err
	}
	done := make([]geoEntry, len(written))
	for i, name := range written {
		row := after[name]
		if row == nil {
			return nil, SaveCounts{}, fmt.Errorf("shop %s disappeared during the write", name)
		}
		done[i] = entryOf(row)
	}
	return done, counts, nil
}

// changePriors computes the scores of rated shops whose imported score changed.
func (s *Service) changePriors(ctx context.Context, tx *ent.Tx, before, after map[string]*ent.Shop) error {
	var ids []int64
	for name, row := range after {
		if old := before[name]; old != nil && old.Score != row.Score && row.RatingScore != nil {
			ids = append(ids, row.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rated, err := s.LockRatings(ctx, tx, ids)
	if err != nil {
		return err
	}
	return s.SetRatings(ctx, tx, slices.Collect(maps.Values(rated)))
}

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

// is reports whether the row already has the values that the draft updates.
func (d *Draft) is(r *ent.Shop, types map[string]int64, zones *zones) bool {
	return r.TypeID == types[d.Type] && r.Name == d.Name && r.Address == d.Address &&
		optional.Value(r.Area) == d.Area && optional.Value(r.OpenHours) == d.OpenHours &&
		optional.Value(r.Phone) == d.Phone && optional.Value(r.Website) == d.Website && r.TimeZone == d.TimeZone &&
		optional.Value(r.OpenMask) == optional.Value(d.openMask(zones)) &&
		r.Lat == d.Lat && r.Lng == d.Lng && r.Score == d.Score &&
		(r.AvgPrice == nil) == (d.AvgPrice == nil) && optional.Value(r.AvgPrice) == optional.Value(d.AvgPrice) &&
		r.Search == searchText(d.Name, d.Area, d.Address)
}

func (d *Draft) create(tx *ent.Tx, types map[string]int64, known map[string]mediapath.Size, zones *zones) *ent.ShopCreate {
	return tx.Shop.Create().
		SetExternalID(d.ExternalID).SetNillableOwnerID(optional.OrNil(d.OwnerID)).SetTypeID(types[d.Type]).SetName(d.Name).
		SetNillableArea(optional.OrNil(d.Area)).SetAddress(d.Address).
		SetLat(d.Lat).SetLng(d.Lng).SetGeo(geo.Hash(d.at())).
		SetNillableAvgPrice(d.AvgPrice).SetScore(d.Score).SetNillableOpenHours(optional.OrNil(d.OpenHours)).SetNillableOpenMask(d.openMask(zones)).
		SetNillablePhone(optional.OrNil(d.Phone)).SetNillableWebsite(optional.OrNil(d.Website)).SetTimeZone(d.TimeZone).
		SetSearch(searchText(d.Name, d.Area, d.Address)).SetImages(mediapath.Column(d.Images, known))
}

// setFromDraft sets the columns that a draft updates: all except owner and images.
func setFromDraft(u *ent.ShopUpsert) {
	u.UpdateTypeID().UpdateName().UpdateArea().UpdateAddress().UpdateLat().UpdateLng().UpdateGeo().
		UpdateAvgPrice().UpdateScore().UpdateOpenHours().UpdateOpenMask().
		UpdatePhone().UpdateWebsite().UpdateTimeZone().UpdateSearch().UpdateUpdatedAt().AddVersion(1)
}
