// Package visit counts who visits the site and its shops: different people, each once
// in any range of days, and views.
//
// What is counted. A page of our own app says so itself, by POST /visit: that is a view
// of the site, and of a shop if the page is one, however the page came to be shown. A
// client that sends no such beacon is seen by what it asks: the first of its operations
// within 30 seconds is a view of the site, and each shop(id) one of that shop. What says
// of itself that it is a bot is left out. Somebody is known by the account, else by the
// cookie that the beacon sets, else by a digest of network and user agent.
//
// The way of a visit. Recording is a mutex and a map, in the process. Once a second that
// goes to Redis, in pipelines: a HyperLogLog and a counter for each shop and day. Once a
// minute what changed there is rolled up into rows, bytes of the HyperLogLog included, so
// that history outlives Redis; a Redis that forgot a day that goes on is given back its
// visitors then. Who reads merges both.
//
// What can be lost. A process that is killed loses what it had not flushed: one second of
// its visits, or the flushes that failed before, while Redis was away; of these it keeps
// 50 000 visitors and drops others, which a metric counts. A process that ends in good
// order loses nothing. A Redis that forgets loses what came since the last roll-up: a
// minute. In the embedded mode both are one: what a crash loses are the visits since the
// last roll-up, a minute at most. Nothing is counted twice but views of a flush whose
// answer was lost, which is repeated; of visitors a repetition changes nothing.
package visit

import (
	"context"
	_ "embed" // the script
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Stats are how often something was visited.
type Stats struct {
	Date           *civil.Date // nil for a range of days
	UniqueVisitors int
	Views          int
}

// Shops know which shops there are.
type Shops interface {
	// Known returns those of the shops that exist. There are 500 of them at most.
	Known(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// Config holds the dependencies of a Service. Redis, Prefix, Shops, Registerer and Log are
// required.
type Config struct {
	Redis      redis.Cmdable
	Prefix     string // of the Redis keys
	Shops      Shops
	Zone       *time.Location // of the days that visits count for; default UTC
	Registerer prometheus.Registerer
	Log        *slog.Logger
	Now        func() time.Time // default [time.Now]

	max int // visitors and shops that wait for a flush; default 50 000
}

// Service is the room. It is safe for concurrent use.
type Service struct {
	db        *ent.Client
	rdb       redis.Cmdable
	keys      keys
	cfg       Config
	buffer    *buffer
	recent    *recent
	anonymous *anonymous
	counts    *counts
	failures  *observe.FailureLog
	rolled    *redis.Script
}

//go:embed lua/rolled.lua
var rolledLua string

// New returns a Service. It starts nothing, and the caller closes the dependencies. Each
// process that answers requests needs [Service.Run]; [Service.Work] may run in any.
func New(db *ent.Client, cfg Config) *Service {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.max == 0 {
		cfg.max = 50_000
	}
	counts := newCounts(cfg.Registerer)
	return &Service{
		db: db, rdb: cfg.Redis, keys: keys{cfg.Prefix}, cfg: cfg,
		buffer: newBuffer(cfg.max, counts.full), recent: newRecent(cfg.max), anonymous: newAnonymous(cfg.max),
		counts: counts, failures: newFailures(cfg.Registerer, cfg.Log), rolled: redis.NewScript(rolledLua),
	}
}

// today is the day that visits are counted on now.
func (s *Service) today() int { return dayOf(civil.DateOf(s.cfg.Now().In(s.cfg.Zone))) }

// dayOf writes a day as yyyymmdd, as rows and keys have it.
func dayOf(d civil.Date) int { return d.Year*10_000 + int(d.Month)*100 + d.Day }
