package rating

import (
	"context"
	"fmt"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// work is a group of changes that share a transaction.
type work struct {
	attempts []*attempt
	repeats  []Pair          // of calls that needed no transaction
	changed  []Pair          // distinct
	jobs     []outbox.JobRef // for changed
}

// attempt is one change within a group. write sets the last three fields.
type attempt struct {
	Pair
	want *Rating    // nil to delete
	skip bool       // leave an existing rating
	use  *quota.Use // of this change

	stored  *Rating // after this change
	changed bool
	refused error
}

// release uncounts changes that were not stored.
func (w *work) release(ctx context.Context, committed bool) {
	for _, a := range w.attempts {
		if !committed || !a.changed {
			a.use.Release(ctx)
		}
	}
}

// write is the transaction of a group. It locks the shops first, in id order, and then reads the
// ratings. So transactions on one shop run one after the other, and counters equal rows. It
// applies the changes in order. It may run again after an error.
func (s *Service) write(ctx context.Context, tx *ent.Tx, w *work) error {
	pairs, limits := make([]Pair, len(w.attempts)), make([]error, len(w.attempts))
	for i, a := range w.attempts {
		// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until the
		// deadline of the limiter.
		pairs[i], limits[i] = a.Pair, a.use.Wait()
	}
	shops, set, err := s.shops.LockRatings(ctx, tx, shopsOf(pairs))
	if err != nil {
		return fmt.Errorf("lock shops: %w", err)
	}
	before, err := s.find(ctx, tx, pairs)
	if err != nil {
		return err
	}
	after := make(map[Pair]*Rating) // of changed pairs
	w.changed, w.jobs = nil, nil
	for i, a := range w.attempts {
		old, again := after[a.Pair]
		if !again {
			old = before[a.Pair]
		}
		if a.apply(shops[a.Shop], old, limits[i]); a.changed {
			after[a.Pair] = a.want
			if !again {
				w.changed = append(w.changed, a.Pair)
			}
		}
	}
	if len(w.changed) == 0 {
		return nil
	}
	if err := s.writeRows(ctx, tx, w.changed, after); err != nil {
		return err
	}
	if err := set(ctx, shopsOf(w.changed)); err != nil {
		return err
	}
	w.jobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, w.changed...)
	return err
}

// apply decides on one change and counts it in its shop, nil for a missing one. limit is the
// answer of the quota.
func (a *attempt) apply(shop *Shop, old *Rating, limit error) {
	a.stored, a.changed, a.refused = old, false, nil
	switch {
	case shop == nil:
		a.refused = refuse(apierror.NotFound, "Shop not found.")
	case a.want != nil && optional.Value(shop.OwnerID) == a.User:
		a.refused = refuse(OwnShop, "You can't rate your own shop.")
	case a.want.equal(old), a.skip && old != nil: // no change
	case limit != nil:
		a.refused = limit
	default:
		shop.add(old, -1)
		shop.add(a.want, 1)
		a.stored, a.changed = a.want, true
	}
}

func refuse(code apierror.Code, message string) error {
	return apierror.Refuse(code, message, "input", "shopId")
}

// writeRows stores or deletes the ratings of pairs.
func (s *Service) writeRows(ctx context.Context, tx *ent.Tx, pairs []Pair, after map[Pair]*Rating) error {
	type row struct {
		Pair
		Stars       int   `json:"stars"`
		Taste       *int  `json:"taste"`
		Environment *int  `json:"environment"`
		Service     *int  `json:"service"`
		At          int64 `json:"at"`
	}
	var stored []row
	var removed []Pair
	for _, p := range pairs {
		if r := after[p]; r != nil {
			stored = append(stored, row{p, r.Stars, r.Taste, r.Environment, r.Service, r.UpdatedAt.UnixMilli()})
		} else {
			removed = append(removed, p)
		}
	}
	for page := range slices.Chunk(stored, pageSize) {
		if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.store, sqldb.JSON(page)); err != nil {
			return fmt.Errorf("store %d ratings: %w", len(page), err)
		}
	}
	for page := range slices.Chunk(removed, pageSize) {
		if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.remove, sqldb.JSON(page)); err != nil {
			return fmt.Errorf("delete %d ratings: %w", len(page), err)
		}
	}
	return nil
}
