package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Prior of the score: a shop begins with the mean, which weighs as much as weight ratings.
// See [Service.Score].
const (
	DefaultPriorMean   = 3.8
	DefaultPriorWeight = 10
)

// Ratings holds the counters of the ratings of a shop.
type Ratings struct {
	Stars       [5]int `json:"stars,omitzero"` // number of ratings by stars, one star first
	Taste       Sum    `json:"taste,omitzero"`
	Environment Sum    `json:"environment,omitzero"`
	Service     Sum    `json:"service,omitzero"`
}

// Sum is the number and the sum of the values of one aspect.
type Sum struct {
	Count int `json:"n"`
	Sum   int `json:"sum"`
}

func (s Sum) average() *float64 { return average(s.Count, s.Sum) }

func average(n, sum int) *float64 {
	if n == 0 {
		return nil
	}
	mean := float64(sum) / float64(n)
	return &mean
}

// stars returns the number of ratings and the sum of their stars.
func (r Ratings) stars() Sum {
	var s Sum
	for i, n := range r.Stars {
		s.Count += n
		s.Sum += n * (i + 1)
	}
	return s
}

// Rating is the number and the averages of the ratings of a shop. Averages are plain, nil
// without values.
type Rating struct {
	Average      *float64
	Count        int
	Distribution []int // number of ratings by stars, one star first
	Taste        *float64
	Environment  *float64
	Service      *float64
}

// Rating returns the number and the averages of the ratings.
func (s *Shop) Rating() *Rating {
	stars := s.Ratings.stars()
	return &Rating{
		Average: stars.average(), Count: stars.Count, Distribution: s.Ratings.Stars[:],
		Taste: s.Ratings.Taste.average(), Environment: s.Ratings.Environment.average(), Service: s.Ratings.Service.average(),
	}
}

func ratingsOf(r *ent.Shop) Ratings {
	return Ratings{
		Stars:       [5]int{r.Stars1, r.Stars2, r.Stars3, r.Stars4, r.Stars5},
		Taste:       Sum{r.TasteCount, r.TasteSum},
		Environment: Sum{r.EnvironmentCount, r.EnvironmentSum},
		Service:     Sum{r.ServiceCount, r.ServiceSum},
	}
}

// Score returns the Bayesian average of the ratings of a shop, nil without ratings:
//
//	(weight·mean + Σ stars) / (weight + n)
//
// The mean is the imported score if there is one, else the configured prior. So a shop needs
// several ratings to leave the average, and many to reach the top. The result has four
// decimals, so that equal shops have equal scores in both databases.
func (s *Service) Score(r Ratings, imported float64) *float64 {
	stars := r.stars()
	if stars.Count == 0 {
		return nil
	}
	mean := imported
	if mean == 0 {
		mean = s.prior.Mean
	}
	score := math.Round(1e4*(s.prior.Weight*mean+float64(stars.Sum))/(s.prior.Weight+float64(stars.Count))) / 1e4
	return &score
}

// RatedShop is a locked shop. See [Service.LockRatings].
type RatedShop struct {
	OwnerID *int64 // merchant; nil for none
	Ratings Ratings

	id       int64
	imported float64 // score
	saves    int
}

// LockRatings locks shops until tx ends, in id order. It omits missing shops.
func (s *Service) LockRatings(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]*RatedShop, error) {
	found := make(map[int64]*RatedShop, len(ids))
	err := s.sql.lockRatings.Each(ctx, tx, ids, func(rows *sql.Rows) error {
		var r RatedShop
		stars, n := &r.Ratings.Stars, &r.Ratings
		err := rows.Scan(&r.id, &r.OwnerID, &r.imported, &stars[0], &stars[1], &stars[2], &stars[3], &stars[4],
			&n.Taste.Count, &n.Taste.Sum, &n.Environment.Count, &n.Environment.Sum, &n.Service.Count, &n.Service.Sum, &r.saves)
		found[r.id] = &r
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lock %d shops: %w", len(ids), err)
	}
	return found, nil
}

// SetRatings stores the counters of shops from [Service.LockRatings], and their scores, in
// the same tx. After the commit, call [Service.InvalidateRatings].
func (s *Service) SetRatings(ctx context.Context, tx *ent.Tx, changed []*RatedShop) error {
	type row struct {
		ID               int64    `json:"id"`
		Score            *float64 `json:"score"`
		Stars1           int      `json:"stars_1"`
		Stars2           int      `json:"stars_2"`
		Stars3           int      `json:"stars_3"`
		Stars4           int      `json:"stars_4"`
		Stars5           int      `json:"stars_5"`
		TasteCount       int      `json:"taste_count"`
		TasteSum         int      `json:"taste_sum"`
		EnvironmentCount int      `json:"environment_count"`
		EnvironmentSum   int      `json:"environment_sum"`
		ServiceCount     int      `json:"service_count"`
		ServiceSum       int      `json:"service_sum"`
	}
	rows := make([]row, len(changed))
	for i, c := range changed {
		r := c.Ratings
		rows[i] = row{
			c.id, s.Score(r, c.imported), r.Stars[0], r.Stars[1], r.Stars[2], r.Stars[3], r.Stars[4],
			r.Taste.Count, r.Taste.Sum, r.Environment.Count, r.Environment.Sum, r.Service.Count, r.Service.Sum,
		}
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.setRatings, sqldb.JSON(rows)); err != nil {
		return fmt.Errorf("set the ratings of %d shops: %w", len(changed), err)
	}
	return nil
}

// InvalidateRatings publishes that the counters or the scores of shops changed. It
// invalidates the cached rows, the cached lists and the rankings. It is idempotent.
func (s *Service) InvalidateRatings(ctx context.Context, ids ...int64) error {
	s.Touch(ids...)
	err := errors.Join(s.shops.Invalidate(ctx, ids...), s.tables.shops.Invalidate(ctx))
	shops, failed := s.ByIDs(ctx, ids) // which the response of the write shows anyway
	if failed != nil {
		return outbox.Transient(errors.Join(err, failed))
	}
	types := make([]int64, 0, len(shops))
	for _, shop := range shops {
		types = append(types, shop.TypeID)
	}
	return outbox.Transient(errors.Join(err, s.invalidateRankings(ctx, types, TopRated))) // Redis is unavailable
}

// LockSaves locks shops until tx ends, in id order. It returns the number of saves of each,
// without missing shops. add adds to these numbers. After the commit, the caller calls
// [Service.InvalidateSaves].
func (s *Service) LockSaves(ctx context.Context, tx *ent.Tx, ids []int64) (
	saves map[int64]int, add func(context.Context, map[int64]int) error, err error,
) {
	rows, err := s.LockRatings(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	saves = make(map[int64]int, len(rows))
	for id, r := range rows {
		saves[id] = r.saves
	}
	return saves, func(ctx context.Context, more map[int64]int) error {
		type row struct {
			ID   int64 `json:"id"`
			More int   `json:"more"`
		}
		var rows []row
		for id, n := range more {
			rows = append(rows, row{id, n})
		}
		_, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.addSaves, sqldb.JSON(rows))
		if err != nil {
			err = fmt.Errorf("count the saves of %d shops: %w", len(rows), err)
		}
		return err
	}, nil
}

// InvalidateSaves publishes that the number of saves of shops changed, as
// [Service.InvalidateRatings] does.
func (s *Service) InvalidateSaves(ctx context.Context, ids ...int64) error {
	s.Touch(ids...)
	return outbox.Transient(errors.Join(s.shops.Invalidate(ctx, ids...), s.tables.shops.Invalidate(ctx)))
}

// Exist reports which shops exist, like [Service.ByIDs].
func (s *Service) Exist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	exist := make(map[int64]bool, len(found))
	for id := range found {
		exist[id] = true
	}
	return exist, nil
}
