// Package shop manages shops and their types: search by position or text, reads, imports,
// and edits by merchants.
//
// The database is the source of truth. Redis holds cached rows, and GEO sets for nearby
// searches. Missing sets are rebuilt from the rows.
package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

// Shop is a place that people visit.
type Shop struct {
	ID           int64             `json:"id"`
	TypeID       int64             `json:"type"`
	OwnerID      *int64            `json:"owner,omitempty"` // merchant; nil for none
	Name         string            `json:"name"`
	Images       []mediapath.Image `json:"images,omitempty"`
	Area         *string           `json:"area,omitempty"` // quarter
	Address      string            `json:"address,omitempty"`
	At           geo.Point         `json:"at"`
	AvgPrice     *int              `json:"avg_price,omitempty"` // minor units per person
	Sold         int               `json:"sold,omitempty"`
	CommentCount int               `json:"comments,omitempty"`
	SaveCount    int               `json:"saves,omitempty"`
	Score        *float64          `json:"score,omitempty"` // 1.0 to 5.0; nil for unrated
	Ratings      Ratings           `json:"ratings,omitzero"`
	Version      int64             `json:"version"` // incremented by every update
	OpenHours    *string           `json:"open_hours,omitempty"`
	TimeZone     string            `json:"zone,omitempty"` // IANA name; "" is the zone of the server
	Phone        *string           `json:"phone,omitempty"`
	Website      *string           `json:"website,omitempty"`

	VouchersUntil int64 `json:"vouchers_until,omitempty"` // ms; a voucher is on sale until then
	FlashUntil    int64 `json:"flash_until,omitempty"`    // ms; last end of its flash sales
}

func fromRow(r *ent.Shop) (*Shop, error) {
	images, err := imagesOf(r.ID, r.Images)
	return &Shop{
		ID: r.ID, TypeID: r.TypeID, OwnerID: r.OwnerID, Name: r.Name, Area: r.Area, Address: r.Address,
		At: geo.Point{Lat: r.Lat, Lng: r.Lng}, AvgPrice: r.AvgPrice, Sold: r.Sold,
		CommentCount: r.CommentCount, SaveCount: r.SaveCount, Score: r.RatingScore, Ratings: ratingsOf(r), Version: r.Version, Images: images,
		OpenHours: r.OpenHours, TimeZone: r.TimeZone, Phone: r.Phone, Website: r.Website,
		VouchersUntil: optional.Value(r.VouchersUntil), FlashUntil: optional.Value(r.FlashUntil),
	}, err
}

func imagesOf(id int64, column string) ([]mediapath.Image, error) {
	images, err := mediapath.ImagesOf(column)
	if err != nil {
		return nil, fmt.Errorf("read shop %d: %w", id, err)
	}
	return images, nil
}

// Type is a kind of shop.
type Type struct {
	ID      int64   `json:"id"`
	Name    string  `json:"name"`
	IconURL *string `json:"icon_url,omitempty"`
	Sort    int     `json:"sort"` // ascending list order
}

// Service provides shops. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	sql      lookups
	shops    *cache.Cache[int64, Shop]
	types    *cache.Cache[int64, Type]
	heads    *cache.QueryCache[firstPage, sortKey] // cached lists of shops
	filtered *cache.QueryCache[firstPage, sortKey] // the same with filters
	typeList *cache.QueryCache[struct{}, int64]    // all types, in list order
	tables   struct{ shops, types *cache.Table }   // writes invalidate the lists
	cells    *geoIndex
	outbox   *outbox.Box
	log      *slog.Logger

	pictures Pictures     // of shops
	icons    Pictures     // of types
	quota    *quota.Limit // of new shops

	rankings *cache.Window[rankingKey]
	editions *cache.Cache[editionKey, []int64]

	prior Prior
	zones *zones
	hours parsedHours
	now   func() time.Time

	touchMu sync.Mutex
	touched map[int64]bool // shops whose trends are outdated

	maxByGEO, nearestSorted int // the constants of these names, except in tests
}

// Pictures manages the images of shops or types.
type Pictures interface {
	// Sizes returns the sizes of the images that the editor may show, by path.
	Sizes(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// SetUsed records in tx the images that items show, by item id. It returns an
	// [apierror.UserErrors] if the editor may not show one of them.
	SetUsed(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Usage) error
}

// Config holds the dependencies of a Service. Only Quota is optional.
type Config struct {
	Redis      redis.Cmdable  // for GEO cells
	Prefix     string         // for Redis keys
	Pictures   Pictures       // for shops
	Icons      Pictures       // for shop types
	Quota      *quota.Limit   // of new shops per user; nil for no limit
	Prior      Prior          // of scores
	Zone       *time.Location // of shops without a time zone; default UTC
	Now        func() time.Time
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Prior is the assumed score of a shop before its first rating. The zero value is the default.
type Prior struct {
	Mean   float64 // 1 to 5; default [DefaultPriorMean]
	Weight float64 // number of ratings that it weighs; default [DefaultPriorWeight]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
// [Service.Run] runs the background work.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, sql: openLookups(db.Dialect()), cells: newGeoIndex(db, cfg), outbox: box,
		pictures: cfg.Pictures, icons: cfg.Icons, quota: cfg.Quota, log: cfg.Log,
		prior: Prior{cmp.Or(cfg.Prior.Mean, DefaultPriorMean), cmp.Or(cfg.Prior.Weight, DefaultPriorWeight)},
		zones: newZones(cfg.Zone), now: cfg.Now, touched: map[int64]bool{},
		maxByGEO: maxByGEO, nearestSorted: nearestSorted,
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.openCaches(hub)
	s.openRankings(hub)
	s.openOutbox()
	return s
}

// Run rebuilds missing GEO cells that this Service has read, and computes the trends of touched
// shops, until ctx ends. Each process that reads shops must call it.
func (s *Service) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { return s.cells.run(ctx) })
	g.Go(func() error { return s.runTrends(ctx) })
	return g.Wait()
}

// ByID returns one shop. It reflects all completed writes of this process, and those of
// other processes within at most one second.
//
// It returns [apierror.ErrNotFound] if there is no such shop. If Redis is unavailable, it
// reads the row. All other errors come from the database.
func (s *Service) ByID(ctx context.Context, id int64) (*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.ByID")
	defer span.End()
	shop, err := s.shops.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read shop %d: %w", id, err)
	}
	return shop, nil
}

// ByIDs returns the existing shops, like [Service.ByID]. It needs one round trip to the
// cache and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.ByIDs")
	defer span.End()
	found, err := s.shops.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d shops: %w", len(ids), err)
	}
	return found, nil
}

// TypesByID returns the existing types. It needs one round trip to the cache and at most
// one statement.
func (s *Service) TypesByID(ctx context.Context, ids []int64) (map[int64]*Type, error) {
	ctx, span := observe.Span(ctx, "shop.TypesByID")
	defer span.End()
	found, err := s.types.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d shop types: %w", len(ids), err)
	}
	return found, nil
}

// TypeByID returns one type, like [Service.ByID].
func (s *Service) TypeByID(ctx context.Context, id int64) (*Type, error) {
	ctx, span := observe.Span(ctx, "shop.TypeByID")
	defer span.End()
	found, err := s.types.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read shop type %d: %w", id, err)
	}
	return found, nil
}
