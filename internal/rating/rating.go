// Package rating stores the ratings of shops: one for each user and shop.
//
// The table ratings is the source of truth. Its unique index (shop, user) guarantees one
// rating, in any state of Redis. The row of a shop has the counters of its ratings and its
// score. Both change in one transaction that locks the shop, so counters equal rows. Redis
// caches single ratings, and that a user has not rated a shop.
package rating

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// OwnShop is the code of a rating that is refused because the user owns the shop.
const OwnShop apierror.Code = "OWN_SHOP"

// maxStars is the best value of a rating and of its aspects. The worst one is 1.
const maxStars = 5

// Rating is a user's rating of a shop. Aspects are 1 to 5; nil is not rated.
type Rating struct {
	ShopID      int64     `json:"shop"`
	UserID      int64     `json:"user"`
	Stars       int       `json:"stars"` // 1 to 5
	Taste       *int      `json:"taste,omitempty"`
	Environment *int      `json:"environment,omitempty"`
	Service     *int      `json:"service,omitempty"`
	UpdatedAt   time.Time `json:"updated"`
}

func (r *Rating) pair() Pair { return Pair{r.ShopID, r.UserID} }

// equal reports whether two ratings have the same values, at any time. Either may be nil.
func (r *Rating) equal(o *Rating) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Stars == o.Stars && same(r.Taste, o.Taste) && same(r.Environment, o.Environment) && same(r.Service, o.Service)
}

func same(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// Draft is a rating to store.
type Draft struct {
	ShopID                      int64
	Stars                       int  // 1 to 5
	Taste, Environment, Service *int // 1 to 5; nil for none
}

// check returns all errors of a draft.
func (d Draft) check() error {
	var wrong apierror.UserErrors
	for _, value := range []struct {
		field string
		is    *int
	}{{"stars", &d.Stars}, {"taste", d.Taste}, {"environment", d.Environment}, {"service", d.Service}} {
		if value.is != nil && (*value.is < 1 || *value.is > maxStars) {
			wrong.Add(apierror.InvalidInput, value.field, "Choose a value from 1 to %d.", maxStars)
		}
	}
	return wrong.OrNil()
}

func (d Draft) by(user int64, at time.Time) *Rating {
	return &Rating{d.ShopID, user, d.Stars, d.Taste, d.Environment, d.Service, at}
}

// Pair identifies a rating.
type Pair struct {
	Shop int64 `json:"shop"`
	User int64 `json:"user"`
}

// Shop is a locked shop with the counters of its ratings.
type Shop struct {
	OwnerID *int64 // merchant; nil for none
	Counters
}

// Counters holds the counters of the ratings of a shop.
type Counters struct {
	Stars                       [maxStars]int // number of ratings by stars, one star first
	Taste, Environment, Service Sum
}

// Sum is the number and the sum of the values of one aspect.
type Sum struct{ Count, Sum int }

// add counts a rating n times. A nil rating counts nothing. A counter never falls below 0: the
// scan repairs one that is too low.
func (c *Counters) add(r *Rating, n int) {
	if r == nil {
		return
	}
	stars := &c.Stars[r.Stars-1]
	*stars = max(*stars+n, 0)
	c.Taste.add(r.Taste, n)
	c.Environment.add(r.Environment, n)
	c.Service.add(r.Service, n)
}

func (s *Sum) add(value *int, n int) {
	if value != nil {
		s.Count, s.Sum = max(s.Count+n, 0), max(s.Sum+n**value, 0)
	}
}

// Shops provides the shops that users rate.
type Shops interface {
	// OwnerOf returns the owner of a shop, nil if it has none. It returns false if the shop
	// does not exist.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// LockRatings locks shops until tx ends, in id order, without missing ones. set stores the
	// changed counters of some of them, and their scores.
	LockRatings(ctx context.Context, tx *ent.Tx, ids []int64) (shops map[int64]*Shop, set func(ctx context.Context, changed []int64) error, err error)
	// InvalidateRatings invalidates cached shops after a commit.
	InvalidateRatings(ctx context.Context, ids ...int64) error
	// Score returns the score of a shop with an imported score, 0 for none.
	Score(c Counters, imported float64) *float64
}

const (
	readTimeout  = 2 * time.Second // of one read, except in scans
	writeTimeout = 5 * time.Second // of one change, including the work after its commit
)

// Service provides ratings. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	outbox   *outbox.Box
	shops    Shops
	quota    *quota.Limit
	now      func() time.Time
	ratings  *cache.Cache[Pair, Rating]
	changing *batch.Batcher[change, *Rating]
	sql      struct{ find, store, remove, count string }
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Shops is required.
type Config struct {
	Shops Shops
	Quota *quota.Limit     // of changes per user; nil for no limit
	Now   func() time.Time // default [time.Now]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies. A hub and
// a box accept one Service.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, outbox: box, shops: cfg.Shops, quota: cfg.Quota, now: cfg.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if err := sqldb.ReadStatements(files, db.Dialect(), map[string]*string{
		"find": &s.sql.find, "store": &s.sql.store, "remove": &s.sql.remove, "count": &s.sql.count,
	}); err != nil {
		panic(fmt.Sprintf("rating: %v", err)) // the files are embedded
	}
	s.openCache(hub)
	s.changing = batch.New(s.changeAll, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
	box.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidate)})
	return s
}
