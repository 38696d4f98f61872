package shop

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/geo"
)

const (
	cellPrecision    = 4       // characters of the geohash of an unsplit cell
	maxCellPrecision = 8       // a cell of 38 × 19 m is not split further
	cellMembers      = 100_000 // maximum members of a cell, including marks
	addBatch         = 500     // shops in one call of a script
	pipelineBatch    = 500     // commands in one pipeline

	cellTTL      = time.Hour        // then the rows replace the writes that Redis lost
	emptyCellTTL = 10 * time.Minute // of a cell without shops; queries can create any number
	draftTTL     = time.Minute      // after the last progress of a rebuild
	buildTimeout = time.Minute      // of one rebuild
	builders     = 2                // concurrent rebuilds
	buildQueue   = 1024             // waiting rebuilds; readers enqueue dropped ones again
	redisTimeout = 250 * time.Millisecond
)

//go:embed lua/cell_add.lua
var cellAddLua string

//go:embed lua/cell_fill.lua
var cellFillLua string

//go:embed lua/cell_publish.lua
var cellPublishLua string

// geoIndex stores shops by position in Redis GEO sets. Each geohash cell of four characters
// (about 39 × 20 km) has one set per type and one for all types. A cell with more than
// cellMembers members is split into the 32 cells one character longer, recursively. The
// rows are the source of truth: readers check each member against its row, and missing sets
// are rebuilt.
//
// Members are never removed. Removing the old position of a moved shop would race with a
// move back, and a stale member only costs reading a row.
type geoIndex struct {
	db   *ent.Client
	rdb  redis.Cmdable
	keys keys
	log  *slog.Logger
	max  int // cellMembers, except in tests

	add, fill, publish *redis.Script

	sources *prometheus.CounterVec // nearby searches by data source
	built   *prometheus.CounterVec
	queue   chan cellID

	mu     sync.Mutex
	queued map[cellID]bool
}

// cellID identifies the set of a cell and a type; type 0 is all types.
type cellID struct {
	typeID int64
	cell   geo.Cell
}

func newGeoIndex(db *ent.Client, cfg Config) *geoIndex {
	c := &geoIndex{
		db: db, rdb: cfg.Redis, keys: keys{cfg.Prefix}, log: cfg.Log, max: cellMembers,
		add:     redis.NewScript(cellAddLua),
		fill:    redis.NewScript(cellFillLua),
		publish: redis.NewScript(cellPublishLua),
		sources: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_shop_near_total", Help: "Reads of shop candidates near a position, by data source.",
		}, []string{"source"}),
		built: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_shop_cells_built_total", Help: "GEO cell rebuilds by outcome.",
		}, []string{"outcome"}),
		queue:  make(chan cellID, buildQueue),
		queued: map[cellID]bool{},
	}
	cfg.Registerer.MustRegister(c.sources, c.built)
	for _, s := range []string{"geo", "sql"} {
		c.sources.WithLabelValues(s)
	}
	for _, o := range []string{"whole", "split", "failed"} {
		c.built.WithLabelValues(o)
	}
	return c
}

// within returns the members inside a circle, unsorted, of each cell at most the nearest limit.
// The result is complete up to its reach. within returns false if a cell is missing, Redis
// is unavailable, or the circle crosses the 180th meridian. It enqueues rebuilds of missing
// cells. Each level of split cells costs one more pipeline.
func (c *geoIndex) within(ctx context.Context, typeID int64, circle geo.Circle, limit int) (candidates, bool) {
	all := candidates{reach: circle.Radius}
	boxes := circle.Boxes()
	if len(boxes) != 1 {
		return all, false
	}
	todo := geo.Cover(boxes[0], cellPrecision)
	for len(todo) > 0 {
		var split []geo.Cell
		for batch := range slices.Chunk(todo, pipelineBatch/2) {
			some, deeper, err := c.read(ctx, typeID, circle, batch, limit)
			if err != nil {
				if !errors.Is(err, errMissing) {
					c.log.WarnContext(ctx, "cannot read GEO cells, using SQL", "err", err)
				}
				return all, false
			}
			all = candidates{append(all.list, some.list...), min(all.reach, some.reach)}
			split = append(split, deeper...)
		}
		todo = todo[:0]
		for _, parent := range split {
			for _, child := range parent.Children() {
				if child.Intersects(boxes[0]) {
					todo = append(todo, child)
				}
			}
		}
	}
	c.sources.WithLabelValues("geo").Inc()
	return all, true
}

var errMissing = errors.New("missing cell")

// read reads a batch of cells in one pipeline. It returns their candidates, as within does,
// and the split cells.
func (c *geoIndex) read(ctx context.Context, typeID int64, circle geo.Circle, batch []geo.Cell, limit int) (some candidates, split []geo.Cell, err error) {
	some.reach = circle.Radius
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	marks := make([]*redis.Cmd, len(batch))
	near := make([]*redis.GeoSearchLocationCmd, len(batch))
	pipe := c.rdb.Pipeline()
	for i, cell := range batch {
		key := c.keys.cell(typeID, cell)
		// Read the marks first: a cell that appears in between then counts as missing, never
		// as complete and empty. (ZMScore cannot return nil.)
		marks[i] = pipe.Do(ctx, "ZMSCORE", key, markBuilt, markSplit)
		near[i] = pipe.GeoSearchLocation(ctx, key, &redis.GeoSearchLocationQuery{
			GeoSearchQuery: redis.GeoSearchQuery{
				Longitude: circle.Center.Lng, Latitude: circle.Center.Lat,
				Radius: circle.Radius, RadiusUnit: "m", Sort: "ASC", Count: limit,
			},
			WithDist: true,
		})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return some, nil, fmt.Errorf("read %d cells: %w", len(batch), err)
	}
	missing := false
	for i, cell := range batch {
		m, err := marks[i].Slice()
		if err != nil || len(m) != 2 {
			return some, nil, fmt.Errorf("read marks of cell %s: %w", cell, err)
		}
		switch {
		case m[0] == nil:
			missing = true
			c.enqueue(cellID{typeID, cell})
		case m[1] != nil:
			split = append(split, cell)
		default:
			members := near[i].Val()
			if len(members) == limit {
				some.reach = min(some.reach, members[limit-1].Dist)
			}
			for _, l := range members {
				if id, hash, ok := parseMember(l.Name); ok {
					some.list = append(some.list, candidate{id, hash, l.Dist})
				}
			}
		}
	}
	if missing {
		return some, nil, errMissing
	}
	return some, split, nil
}

// insert adds committed shops to the existing cells of their type and of all types.
func (c *geoIndex) insert(ctx context.Context, shops []geoEntry) error {
	todo := map[cellID][]geoEntry{}
	for _, s := range shops {
		cell := geo.CellOf(s.at, cellPrecision)
		for _, typeID := range []int64{0, s.typeID} {
			id := cellID{typeID, cell}
			todo[id] = append(todo[id], s)
		}
	}
	for len(todo) > 0 {
		deeper := map[cellID][]geoEntry{}
		for id, list := range todo {
			for part := range slices.Chunk(list, addBatch) {
				ctx, cancel := context.WithTimeout(ctx, redisTimeout)
				keys := []string{c.keys.cell(id.typeID, id.cell), c.keys.cellDraft(id.typeID, id.cell)}
				outcome, err := c.add.Run(ctx, c.rdb, keys, geoArgs(part, c.limit(id.cell))...).Int()
				if redis.HasErrorPrefix(err, "OOM") { // a full Redis accepts deletions; readers use the rows
					outcome, err = 0, c.rdb.Unlink(ctx, keys...).Err()
				}
				cancel()
				if err != nil {
					return fmt.Errorf("add %d shops to cell %s: %w", len(part), id.cell, err)
				}
				if outcome != addedToSplit {
					continue
				}
				for _, s := range part {
					child := cellID{id.typeID, geo.CellOf(s.at, id.cell.Precision()+1)}
					deeper[child] = append(deeper[child], s)
				}
			}
		}
		todo = deeper
	}
	return nil
}

// addedToSplit is the result of cell_add.lua for a split cell.
const addedToSplit = 2

// geoEntry holds the fields of a shop that the index stores.
type geoEntry struct {
	id, typeID int64
	at         geo.Point
}

// geoArgs returns first, followed by longitude, latitude and member of each shop.
func geoArgs(shops []geoEntry, first ...any) []any {
	args := append(make([]any, 0, len(first)+3*len(shops)), first...)
	for _, s := range shops {
		args = append(args, s.at.Lng, s.at.Lat, member(s.id, geo.Hash(s.at)))
	}
	return args
}

// enqueue schedules the rebuild of a cell, unless it is already scheduled.
func (c *geoIndex) enqueue(id cellID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued[id] {
		return
	}
	select {
	case c.queue <- id:
		c.queued[id] = true
	default: // full; the next reader of the cell enqueues it
	}
}

func (c *geoIndex) run(ctx context.Context) error {
	var g errgroup.Group
	for range builders {
		g.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case id := <-c.queue:
					c.rebuildOne(ctx, id)
				}
			}
		})
	}
	return g.Wait()
}

func (c *geoIndex) rebuildOne(ctx context.Context, id cellID) {
	defer func() {
		c.mu.Lock()
		delete(c.queued, id)
		c.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	if err := c.rebuild(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
		c.built.WithLabelValues("failed").Inc()
		c.log.WarnContext(ctx, "cannot rebuild GEO cell", "cell", id.cell.String(), "type", id.typeID, "err", err)
	}
}

// rebuild builds one set from the rows. The draft exists before the rows are read. So a
// shop that is committed meanwhile is in the rows, or its writer adds it to the draft.
// Processes that rebuild the same cell share the draft, and the first to finish publishes
// it. The draft number prevents a process from publishing a draft that began after it read
// the rows.
func (c *geoIndex) rebuild(ctx context.Context, id cellID) error {
	draft := c.keys.cellDraft(id.typeID, id.cell)
	number, err := c.begin(ctx, draft)
	if err != nil {
		return fmt.Errorf("begin draft: %w", err)
	}
	shops, err := c.rows(ctx, id)
	if err != nil {
		return err
	}
	split := ""
	if len(shops) >= c.max && id.cell.Precision() < maxCellPrecision {
		split, shops = markSplit, nil
		if err := c.dropChildren(ctx, id); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(shops, addBatch) {
		left, err := c.fill.Run(ctx, c.rdb, []string{draft}, geoArgs(part, number, draftTTL.Milliseconds())...).Int()
		if err != nil {
			return fmt.Errorf("fill draft: %w", err)
		}
		if left == 0 {
			return nil // another process published it, or it expired
		}
	}
	limit := c.limit(id.cell)
	outcome, err := c.publish.Run(ctx, c.rdb, []string{c.keys.cell(id.typeID, id.cell), draft},
		number, limit, emptyCellTTL.Milliseconds(), jittered(cellTTL).Milliseconds(), split).Int()
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	switch outcome {
	case 1:
		c.built.WithLabelValues("whole").Inc()
	case 2:
		c.built.WithLabelValues("split").Inc()
		// Drop again: writers see the split now, and children that are built from older rows
		// must not be published.
		return c.dropChildren(ctx, id)
	}
	return nil
}

// limit returns the maximum number of members of a cell; the highest precision has no limit.
func (c *geoIndex) limit(cell geo.Cell) int {
	if cell.Precision() == maxCellPrecision {
		return math.MaxInt32
	}
	return c.max
}

// jittered returns a TTL in [d/2, d), so that cells do not expire together.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2) //nolint:gosec // not a secret
}

// begin creates a draft, or joins the existing one, and returns its number.
func (c *geoIndex) begin(ctx context.Context, draft string) (int64, error) {
	pipe := c.rdb.Pipeline()
	pipe.ZAddNX(ctx, draft, redis.Z{Score: float64(rand.Int64N(1 << 50)), Member: markBuilt}) //nolint:gosec // unique, not secret
	pipe.PExpire(ctx, draft, draftTTL)
	number := pipe.ZScore(ctx, draft, markBuilt)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	return int64(number.Val()), nil
}

// dropChildren removes the cells one character longer, and their drafts. They may be left
// from an earlier split of this cell, and then lack the shops added since.
func (c *geoIndex) dropChildren(ctx context.Context, id cellID) error {
	_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, child := range id.cell.Children() {
			p.Unlink(ctx, c.keys.cell(id.typeID, child))
			p.Unlink(ctx, c.keys.cellDraft(id.typeID, child))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop children of cell %s: %w", id.cell, err)
	}
	return nil
}

// rows reads the positions in a cell, at most c.max: a full result needs a split.
func (c *geoIndex) rows(ctx context.Context, id cellID) ([]geoEntry, error) {
	lo, hi := id.cell.Range()
	q := c.db.Shop.Query().Where(entshop.GeoGTE(lo), entshop.GeoLT(hi))
	if id.typeID != 0 {
		q = q.Where(entshop.TypeID(id.typeID))
	}
	if id.cell.Precision() < maxCellPrecision {
		q = q.Limit(c.max)
	}
	rows, err := q.Select(entshop.FieldID, entshop.FieldLat, entshop.FieldLng).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select shops of cell %s: %w", id.cell, err)
	}
	shops := make([]geoEntry, len(rows))
	for i, r := range rows {
		shops[i] = geoEntry{r.ID, id.typeID, geo.Point{Lat: r.Lat, Lng: r.Lng}}
	}
	return shops, nil
}
