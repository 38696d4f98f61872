package visit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/visitday"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const readTimeout = 2 * time.Second // of a read of rows

// byDay compares buckets in the order in which all transactions insert and lock rows.
func byDay(a, b bucket) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.shop, b.shop)) }

// lockRows locks the rows of days, which are sorted. It inserts missing rows.
func lockRows(ctx context.Context, tx *ent.Tx, days []bucket) (map[bucket]*ent.VisitDay, error) {
	existing, err := rowsByDay(ctx, tx, days, false)
	if err != nil {
		return nil, err
	}
	var missing []*ent.VisitDayCreate
	for _, b := range days {
		if existing[b] == nil {
			missing = append(missing, newRow(tx.Client(), b))
		}
	}
	if len(missing) > 0 {
		if err := tx.VisitDay.CreateBulk(missing...).OnConflictColumns(visitday.FieldShopID, visitday.FieldDay).DoNothing().Exec(ctx); err != nil {
			return nil, fmt.Errorf("insert rows of %d days: %w", len(missing), err)
		}
	}
	return rowsByDay(ctx, tx, days, true)
}

func newRow(db *ent.Client, b bucket) *ent.VisitDayCreate {
	return db.VisitDay.Create().SetShopID(b.shop).SetDay(b.day).SetUniques(0).SetViews(0).SetSketch([]byte{}).SetCounter("").SetCounted(0)
}

// rowsByDay reads rows, with one statement for each day: a roll-up has few. Without locks it
// does not read the visitors.
func rowsByDay(ctx context.Context, tx *ent.Tx, days []bucket, lock bool) (map[bucket]*ent.VisitDay, error) {
	found := make(map[bucket]*ent.VisitDay, len(days))
	for len(days) > 0 {
		day, shops := days[0].day, []int64{}
		for ; len(days) > 0 && days[0].day == day; days = days[1:] {
			shops = append(shops, days[0].shop)
		}
		query := tx.VisitDay.Query().Where(visitday.Day(day), visitday.ShopIDIn(shops...)).Order(visitday.ByShopID())
		if lock {
			query.Modify(sqldb.ForUpdate)
		} else {
			query.Select(visitday.FieldShopID, visitday.FieldDay)
		}
		rows, err := query.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("select %d rows of visits: %w", len(shops), err)
		}
		for _, row := range rows {
			found[bucket{row.ShopID, row.Day}] = row
		}
	}
	return found, nil
}

func saveRows(ctx context.Context, tx *ent.Tx, rows []*ent.VisitDay) error {
	if len(rows) == 0 {
		return nil
	}
	writes := make([]*ent.VisitDayCreate, len(rows))
	for i, r := range rows {
		writes[i] = newRow(tx.Client(), bucket{r.ShopID, r.Day}).
			SetUniques(r.Uniques).SetViews(r.Views).SetSketch(r.Sketch).SetCounter(r.Counter).SetCounted(r.Counted)
	}
	err := tx.VisitDay.CreateBulk(writes...).OnConflictColumns(visitday.FieldShopID, visitday.FieldDay).UpdateNewValues().Exec(ctx)
	if err != nil {
		return fmt.Errorf("store %d rows of visits: %w", len(rows), err)
	}
	return nil
}

func (s *Service) rowsOf(ctx context.Context, shop int64, from, to int, visitors bool) (map[int]*ent.VisitDay, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	query := s.db.VisitDay.Query().Where(visitday.ShopID(shop), visitday.DayGTE(from), visitday.DayLTE(to))
	if !visitors {
		query.Select(visitday.FieldDay, visitday.FieldUniques, visitday.FieldViews, visitday.FieldCounter, visitday.FieldCounted)
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select visits of %s from %d to %d: %w", nameOf(shop), from, to, err)
	}
	found := make(map[int]*ent.VisitDay, len(rows))
	for _, row := range rows {
		found[row.Day] = row
	}
	return found, nil
}
