package visit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/visitday"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/hyperloglog"
)

const (
	bulkTimeout = 30 * time.Second // of one statement
	bulkRows    = 100              // per statement
)

// A Day is the visits of a shop on one day, for seeds.
type Day struct {
	Shop     int64 // 0 is the site
	Date     civil.Date
	Visitors []string // keys of visitors
	Views    int64
}

// BulkInsert stores days that are not stored yet. It does not change the others, and does
// not check that the shops exist.
func (s *Service) BulkInsert(ctx context.Context, days []Day) error {
	for part := range slices.Chunk(days, bulkRows) {
		if err := s.insertDays(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) insertDays(ctx context.Context, days []Day) error {
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	writes := make([]*ent.VisitDayCreate, len(days))
	for i, d := range days {
		sketch := new(hyperloglog.Sketch)
		for _, visitor := range d.Visitors {
			sketch.Add([]byte(visitor))
		}
		writes[i] = newRow(s.db, bucket{d.Shop, dayOf(d.Date)}).SetViews(d.Views).SetUniques(int(sketch.Count())).SetSketch(sketch.Bytes())
	}
	err := s.db.VisitDay.CreateBulk(writes...).OnConflictColumns(visitday.FieldShopID, visitday.FieldDay).DoNothing().Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert %d days of visits: %w", len(days), err)
	}
	return nil
}
