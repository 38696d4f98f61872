// Package visit counts views and unique visitors of the site and its shops. A visitor
// counts once in any range of days.
//
// What is counted. The web app reports each of its pages by POST /visit: a view of the site,
// and of a shop if the page shows one. For a client without beacons, the first operation
// within 30 seconds is a view of the site. Each shop(id) is a view of that shop. Bots are
// ignored if they identify as such. A visitor is identified by the account, else by the cookie
// that the beacon sets, else by a digest of network and user agent.
//
// Data flow. Recording takes a mutex and a map, in the process. Once a second, a flush sends
// the counts to Redis in pipelines: a HyperLogLog and a counter for each shop and day. Once a
// minute, a roll-up stores the changed days in rows, including the bytes of the HyperLogLog,
// so history survives a loss of Redis. It also restores lost visitors of current days in
// Redis. Readers merge both.
//
// Losses. A killed process loses its visits since the last flush: one second, or more while
// Redis is unavailable. A process buffers 50 000 visitors and drops others, which a metric
// counts. A process that shuts down loses nothing. If Redis loses its data, the visits since
// the last roll-up are lost: a minute. A crash in embedded mode loses them too. The views of
// a flush whose reply was lost may count twice, its visitors do not.
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

// Stats are the visits of a shop or the site.
type Stats struct {
	Date           *civil.Date // nil for a range of days
	UniqueVisitors int
	Views          int
}

// Shops checks whether shops exist.
type Shops interface {
	// Exist reports which shops exist, of at most 500 ids.
	Exist(ctx context.Context, ids []int64) (map[int64]bool, error)
	// Touch marks shops whose stored visits changed. It must not block.
	Touch(ids ...int64)
}

// Config holds the dependencies of a Service. Redis, Prefix, Shops, Registerer and Log are
// required.
type Config struct {
	Redis      redis.Cmdable
	Prefix     string // prefix of the Redis keys
	Shops      Shops
	Zone       *time.Location // time zone of the days; default UTC
	Registerer prometheus.Registerer
	Log        *slog.Logger
	Now        func() time.Time // default [time.Now]

	max int // visitors and shops that wait for a flush; default 50 000
}

// Service counts visits. It is safe for concurrent use.
type Service struct {
	db           *ent.Client
	rdb          redis.Cmdable
	keys         keys
	cfg          Config
	buffer       *buffer
	recent       *recent
	anonymous    *anonymous
	counts       *counts
	failures     *observe.FailureLog
	markRolledUp *redis.Script
}

//go:embed lua/mark_rolled_up.lua
var markRolledUpLua string

// New returns a Service. It starts nothing, and the caller closes the dependencies. Each process
// that serves requests must call [Service.Run]. [Service.Jobs] may run in any process.
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
		counts: counts, failures: newFailures(cfg.Registerer, cfg.Log), markRolledUp: redis.NewScript(markRolledUpLua),
	}
}

func (s *Service) today() int { return dayOf(civil.DateOf(s.cfg.Now().In(s.cfg.Zone))) }

// dayOf returns a day as yyyymmdd, as in rows and keys.
func dayOf(d civil.Date) int { return d.Year*10_000 + int(d.Month)*100 + d.Day }
