// Package quota limits how much a user may write in an hour.
//
// The counters are in the state Redis, so all processes share them. A script counts a write
// while the write does other work: [Limit.Take] returns a [Use] at once, and the caller waits
// for it before it stores the write. If Redis is unavailable, writes continue without a limit
// and are counted as failures: protection from spam is not worth an outage of all writes.
package quota

import (
	"context"
	_ "embed"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

const (
	// Window is the lifetime of a counter, from its first write.
	Window = time.Hour
	// Young is the age below which an account has a tenth of each limit.
	Young = 24 * time.Hour

	// callTimeout bounds a Redis call, and the read of an account's age. After it the write
	// continues without its limit.
	callTimeout = 2 * time.Second

	youngPart = 10 // a young account has limit/youngPart, at least 1
)

var (
	//go:embed lua/take.lua
	takeLua string
	//go:embed lua/release.lua
	releaseLua string
)

// Config has the dependencies of a [Set]. All fields except Now are required.
type Config struct {
	Redis  redis.Cmdable
	Prefix string // of the Redis keys
	// CreatedAt returns the creation time of an account. It is called only for users above a
	// tenth of a limit.
	CreatedAt  func(ctx context.Context, user int64) (time.Time, error)
	Now        func() time.Time // default time.Now
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Set holds the limits of one process. It is safe for concurrent use.
type Set struct {
	cfg           Config
	take, release *redis.Script
	failures      *observe.FailureLog
	refused       *prometheus.CounterVec
}

// Values of the label doing.
const (
	doingTake    = "take"
	doingRelease = "release"
	doingAge     = "age"
)

// NewSet returns a Set without limits.
func NewSet(cfg Config) *Set {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Set{
		cfg: cfg, take: redis.NewScript(takeLua), release: redis.NewScript(releaseLua),
		failures: observe.NewFailureLog(cfg.Registerer, cfg.Log, observe.FailureOpts{
			Name:    "tandian_quota_failures_total",
			Help:    "Failed operations of hourly limits: count a write (take), uncount it (release), read the age of an account (age). The write continues without its limit.",
			Message: "hourly limits are not enforced", Doings: []string{doingTake, doingRelease, doingAge},
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_quota_refused_total", Help: "Writes rejected by an hourly limit, by kind.",
		}, []string{"kind"}),
	}
	cfg.Registerer.MustRegister(s.refused)
	return s
}

// Limit limits the writes of one kind per user and hour. A nil Limit allows any number. It is
// safe for concurrent use.
type Limit struct {
	set     *Set
	kind    string
	perHour int
}

// Limit returns the limit of a kind of writes. kind is a plural noun in lower case. A limit of
// 0 allows any number, also for young accounts.
func (s *Set) Limit(kind string, perHour int) *Limit {
	s.refused.WithLabelValues(kind)
	return &Limit{s, kind, perHour}
}

// Take starts to count a write of a user and returns at once. The caller calls [Use.Wait]
// before it stores the write, and [Use.Release] if the write fails.
//
// The count continues after the end of ctx: writes of disconnected clients count too.
func (l *Limit) Take(ctx context.Context, user int64) *Use {
	if l == nil || l.perHour == 0 {
		return nil
	}
	u := &Use{limit: l, user: user, done: make(chan struct{})}
	go u.run(context.WithoutCancel(ctx))
	return u
}

// young returns the limit of an account younger than a day.
func (l *Limit) young() int { return max(1, l.perHour/youngPart) }

func (l *Limit) key(user int64) string {
	return l.set.cfg.Prefix + ":quota:{" + strconv.FormatInt(user, 10) + "}:" + l.kind
}

// isYoung reports whether an account is younger than a day. It returns false if the age is
// unknown.
func (l *Limit) isYoung(ctx context.Context, user int64) bool {
	created, err := l.set.cfg.CreatedAt(ctx, user)
	if err != nil {
		l.set.failures.Record(ctx, doingAge, err)
		return false
	}
	return l.set.cfg.Now().Sub(created) < Young
}
