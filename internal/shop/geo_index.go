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
	cellMembers      = 100_000 // members of a cell at most, marks included
	addBatch         = 500     // shops in one call of a script
	pipelineBatch    = 500     // commands in one pipeline

	cellTTL      = time.Hour        // of a cell at most; the rows are read again then, in case Redis lost something
	emptyCellTTL = 10 * time.Minute // of a cell without shops: anybody can ask for any sea
	draftTTL     = time.Minute      // of a rebuild that says nothing
	buildTimeout = time.Minute      // of one rebuild
	builders     = 2                // rebuilds at once
	buildQueue   = 1024             // rebuilds waiting; more are asked for again
	redisTimeout = 250 * time.Millisecond
)

//go:embed lua/cell_add.lua
var cellAddLua string

//go:embed lua/cell_fill.lua
var cellFillLua string

//go:embed lua/cell_publish.lua
var cellPublishLua string

// geoIndex keeps shops by position in Redis GEO sets: one set for each geohash
// cell of four characters (about 39 × 20 km) and type, and one for all types.
// A cell that would hold more than cellMembers is split into the 32 cells one
// character longer, and so on. The sets are an index of the rows: missing ones
// are rebuilt from them, and what they name is always checked against the row.
//
// Nothing is ever taken out of a set. Removing a moved shop's old place would
// race with another move back; a place too many costs a look at a row.
type geoIndex struct {
	db   *ent.Client
	rdb  redis.Cmdable
	keys keys
	log  *slog.Logger
	max  int // cellMembers, but for tests

	add, fill, publish *redis.Script

	sources *prometheus.CounterVec // what answered a search near a place
	built   *prometheus.CounterVec
	queue   chan cellID

	mu     sync.Mutex
	queued map[cellID]bool
}

// cellID names a set: a cell, of one type or (0) of all.
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
			Name: "tandian_shop_near_total", Help: "Looks for shops near a place, by what answered.",
		}, []string{"source"}),
		built: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_shop_cells_built_total", Help: "Rebuilds of GEO cells from the rows, by outcome.",
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

// within returns the members of all cells that a circle touches and that lie
// in it, of each cell the nearest limit at most, and says up to which distance
// that is all of them. It reports false when it cannot answer (a cell is
// missing, Redis is away, the circle crosses the 180th meridian); missing cells
// are then being rebuilt. Split cells cost one more pipeline for each level.
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
					c.log.WarnContext(ctx, "GEO cells cannot be read; the rows answer", "err", err)
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

var errMissing = errors.New("a cell is missing")

// read asks for a batch of cells in one pipeline. It returns what within does
// of them, and the cells that are split.
func (c *geoIndex) read(ctx context.Context, typeID int64, circle geo.Circle, batch []geo.Cell, limit int) (some candidates, split []geo.Cell, err error) {
	some.reach = circle.Radius
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	marks := make([]*redis.Cmd, len(batch))
	near := make([]*redis.GeoSearchLocationCmd, len(batch))
	pipe := c.rdb.Pipeline()
	for i, cell := range batch {
		key := c.keys.cell(typeID, cell)
		// The marks first: a cell that appears in between counts as missing,
		// never as complete and empty. (Not ZMScore: it has no nil.)
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

// insert puts shops that were just committed into the cells that exist, those
// of their type and those of all.
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
				if redis.HasErrorPrefix(err, "OOM") { // a full Redis takes deletions; the rows answer then
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

// addedToSplit is what cell_add.lua answers for a split cell.
const addedToSplit = 2

// geoEntry is what a cell must know of a shop.
type geoEntry struct {
	id, typeID int64
	at         geo.Point
}

// geoArgs are a script's first arguments and then longitude, latitude and
// member of each shop.
func geoArgs(shops []geoEntry, first ...any) []any {
	args := append(make([]any, 0, len(first)+3*len(shops)), first...)
	for _, s := range shops {
		args = append(args, s.at.Lng, s.at.Lat, member(s.id, geo.Hash(s.at)))
	}
	return args
}

// enqueue has a cell rebuilt soon, unless that is waiting to be done already.
func (c *geoIndex) enqueue(id cellID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued[id] {
		return
	}
	select {
	case c.queue <- id:
		c.queued[id] = true
	default: // full; whoever looks there next asks again
	}
}

// run rebuilds the cells that were asked for until ctx ends.
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
		c.log.WarnContext(ctx, "GEO cell not rebuilt", "cell", id.cell.String(), "type", id.typeID, "err", err)
	}
}

// rebuild makes one set from the rows. The draft exists before the rows are
// read, so a shop that is committed meanwhile is either among the rows or put
// into the draft by its writer: none is lost. Processes that rebuild the same
// cell at once share the draft; the first to finish publishes it. Each knows
// the draft by its number, and leaves one alone that was begun after its rows
// were read.
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
			return nil // another process has published it, or a reader asks again
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
		// Again: now that writers see the split, children that were being built
		// by what was known before must not be published.
		return c.dropChildren(ctx, id)
	}
	return nil
}

// limit is how many members a cell may have. One that cannot be split further
// may have any number: better too big than not found.
func (c *geoIndex) limit(cell geo.Cell) int {
	if cell.Precision() == maxCellPrecision {
		return math.MaxInt32
	}
	return c.max
}

// jittered spreads lives over [d/2, d], so that cells do not end all at once.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2) //nolint:gosec // nothing secret
}

// begin makes a draft, or joins the one that there is, and returns its number.
func (c *geoIndex) begin(ctx context.Context, draft string) (int64, error) {
	pipe := c.rdb.Pipeline()
	pipe.ZAddNX(ctx, draft, redis.Z{Score: float64(rand.Int64N(1 << 50)), Member: markBuilt}) //nolint:gosec // told apart, not kept secret
	pipe.PExpire(ctx, draft, draftTTL)
	number := pipe.ZScore(ctx, draft, markBuilt)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	return int64(number.Val()), nil
}

// dropChildren removes the cells, and the drafts of cells, one character
// longer. They may be left from a time before this cell was whole, when it was
// split already, and then lack what was added since.
func (c *geoIndex) dropChildren(ctx context.Context, id cellID) error {
	_, err := c.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, child := range id.cell.Children() {
			p.Unlink(ctx, c.keys.cell(id.typeID, child))
			p.Unlink(ctx, c.keys.cellDraft(id.typeID, child))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop the parts of cell %s: %w", id.cell, err)
	}
	return nil
}

// rows reads the positions in a cell, c.max at most: so many do not fit.
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
