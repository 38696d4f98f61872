// Package rating stores the ratings of shops: one for each user and shop.
//
// The table ratings is the source of truth. Its unique index (shop, user) guarantees one
// rating, in any state of Redis. The row of a shop has the counters of its ratings and its
// score. Both change in one transaction, so counters equal rows.
package rating

import (
	"context"
	"errors"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

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

// Draft is a rating to store.
type Draft struct {
	ShopID                      int64
	Stars                       int  // 1 to 5
	Taste, Environment, Service *int // 1 to 5; nil for none
}

// Pair identifies a rating.
type Pair struct{ Shop, User int64 }

// Service provides ratings. It is safe for concurrent use.
type Service struct{}

// Shops provides the shops that users rate.
type Shops interface {
	// OwnerOf returns the owner of a shop, nil if it has none. It returns false if the shop
	// does not exist.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
}

// Config holds the dependencies of a Service. Shops is required.
type Config struct {
	Shops Shops
	Quota *quota.Limit     // of changes per user; nil for no limit
	Now   func() time.Time // default [time.Now]
}

var errTODO = errors.New("not implemented")

// New returns a Service.
func New(*ent.Client, *cache.Client, *outbox.Box, Config) *Service { return &Service{} }

// Rate stores a rating.
func (s *Service) Rate(context.Context, int64, Draft) (*Rating, error) { return nil, errTODO }

// Delete deletes the rating of a shop by a user.
func (s *Service) Delete(context.Context, int64, int64) error { return errTODO }

// ByPairs returns the existing ratings.
func (s *Service) ByPairs(context.Context, []Pair) (map[Pair]*Rating, error) { return nil, errTODO }
