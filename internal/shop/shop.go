// Package shop is the room of shops and their types: finding them near a place
// or by words, showing them, taking them in from imports, and letting merchants
// create and change theirs.
//
// The rows of the database are the truth. Shops and types are read through a
// cache of rows in Redis; what is near is found through GEO sets in Redis that
// are rebuilt from the rows whenever they are missing.
package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

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

// A Shop is a place that people visit.
type Shop struct {
	ID           int64             `json:"id"`
	TypeID       int64             `json:"type"`
	OwnerID      *int64            `json:"owner,omitempty"` // the merchant; nil for nobody
	Name         string            `json:"name"`
	Images       []mediapath.Image `json:"images,omitempty"`
	Area         *string           `json:"area,omitempty"` // the quarter it lies in
	Address      string            `json:"address,omitempty"`
	At           geo.Point         `json:"at"`
	AvgPrice     *int              `json:"avg_price,omitempty"` // minor units per person
	Sold         int               `json:"sold,omitempty"`
	CommentCount int               `json:"comments,omitempty"`
	Score        *float64          `json:"score,omitempty"` // 1.0 .. 5.0; nil until the shop is rated
	Version      int64             `json:"version"`         // raised by every update
	OpenHours    *string           `json:"open_hours,omitempty"`
}

// fromRow returns a row of the table as a shop.
func fromRow(r *ent.Shop) (*Shop, error) {
	images, err := imagesOf(r.ID, r.Images)
	return &Shop{
		ID: r.ID, TypeID: r.TypeID, OwnerID: r.OwnerID, Name: r.Name, Area: r.Area, Address: r.Address,
		At: geo.Point{Lat: r.Lat, Lng: r.Lng}, AvgPrice: r.AvgPrice, Sold: r.Sold,
		CommentCount: r.CommentCount, Score: optional.OrNil(r.Score), OpenHours: r.OpenHours, Version: r.Version, Images: images,
	}, err
}

// imagesOf decodes the images of a row. An error names the row.
func imagesOf(id int64, column string) ([]mediapath.Image, error) {
	images, err := mediapath.ImagesOf(column)
	if err != nil {
		return nil, fmt.Errorf("read shop %d: %w", id, err)
	}
	return images, nil
}

// A Type is a kind of shop.
type Type struct {
	ID      int64   `json:"id"`
	Name    string  `json:"name"`
	IconURL *string `json:"icon_url,omitempty"`
	Sort    int     `json:"sort"` // ascending order of the list
}

// Service answers for shops. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	sql      lookups
	shops    *cache.Cache[int64, Shop]
	types    *cache.Cache[int64, Type]
	heads    *cache.QueryCache[firstPage, sortKey] // of lists of shops
	typeList *cache.QueryCache[struct{}, int64]    // the list of types
	tables   struct{ shops, types *cache.Table }   // whose writes end those lists
	cells    *geoIndex
	outbox   *outbox.Box
	log      *slog.Logger

	pictures Pictures     // of shops
	icons    Pictures     // of types
	quota    *quota.Limit // of new shops

	maxByGEO, nearestSorted int // the constants of these names, but for tests
}

// Pictures are those that shops and their types show.
type Pictures interface {
	// Known returns the sizes of the pictures that the editor may show, by path.
	Known(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// Show records in tx which pictures things show, by id of the thing. It returns a
	// [fault.UserErrors] if the editor may not show one of them.
	Show(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Shown) error
}

// Config holds the dependencies of a Service. All but Quota are required.
type Config struct {
	Redis      redis.Cmdable // of the GEO cells
	Prefix     string        // of the Redis keys
	Pictures   Pictures      // of shops
	Icons      Pictures      // of shop types
	Quota      *quota.Limit  // of new shops of a user; nil for no limit
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
// [Service.Run] does the background work.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, sql: openLookups(db.Dialect()), cells: newGeoIndex(db, cfg), outbox: box,
		pictures: cfg.Pictures, icons: cfg.Icons, quota: cfg.Quota, log: cfg.Log,
		maxByGEO: maxByGEO, nearestSorted: nearestSorted,
	}
	s.openCaches(hub)
	s.openOutbox()
	return s
}

// Run rebuilds the GEO cells that this Service's readers missed, until ctx ends.
// Every process that reads needs it; any number may run.
func (s *Service) Run(ctx context.Context) error { return s.cells.run(ctx) }

// ByID returns one shop. It sees every write whose call returned in this process,
// those of other processes within moments, a second at most. It
// returns [fault.ErrNotFound] if there is none. When Redis is down it reads the row,
// so any other error means that the database failed.
func (s *Service) ByID(ctx context.Context, id int64) (*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.ByID")
	defer span.End()
	shop, err := s.shops.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read a shop: %w", err)
	}
	return shop, nil
}

// ByIDs returns those of the shops that exist, as [Service.ByID] would, with
// one round trip to the cache and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Shop, error) {
	ctx, span := observe.Span(ctx, "shop.ByIDs")
	defer span.End()
	found, err := s.shops.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d shops: %w", len(ids), err)
	}
	return found, nil
}

// TypesByID returns those of the types that exist, with one round trip to the
// cache and at most one statement.
func (s *Service) TypesByID(ctx context.Context, ids []int64) (map[int64]*Type, error) {
	ctx, span := observe.Span(ctx, "shop.TypesByID")
	defer span.End()
	found, err := s.types.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d shop types: %w", len(ids), err)
	}
	return found, nil
}

// TypeByID returns one type, as [Service.ByID] a shop.
func (s *Service) TypeByID(ctx context.Context, id int64) (*Type, error) {
	ctx, span := observe.Span(ctx, "shop.TypeByID")
	defer span.End()
	found, err := s.types.Ref(ctx, id)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, apierror.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read a shop type: %w", err)
	}
	return found, nil
}
