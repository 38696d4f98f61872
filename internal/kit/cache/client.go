package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// Options tunes a Hub. The zero value is a good setting, except that it shows no
// metrics and keeps nothing in the process's own memory.
type Options struct {
	Prefix        string                // begins every key; default "td"
	Registerer    prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log           *slog.Logger          // default slog.DiscardHandler
	RedisTimeout  time.Duration         // deadline of one round trip; default 250ms
	LocalBytes    int64                 // for the local caches of all policies together; 0: none
	Bus           eventbus.Bus          // tells the other processes what changed, and this one what they changed; nil: nobody is told
	MaxAge        time.Duration         // how long after the last word of the bus a process counts as in sync; default 1s
	SingleProcess bool                  // no other process writes what is cached here: local entries and guards are always in sync
	ReadLimit     int                   // round trips a second that reads may make to Redis, those of essential policies not counted; 0: any
	MaxLoads      int                   // loader calls of all policies at a time; default 64
	ReadOnly      func() bool           // whether Redis refuses writes, for long perhaps: stale entries then stand in only for rows that cannot be read; nil: never
	Disabled      []string              // policies whose reads all ask the loader: to measure what the cache is good for
}

// Client is what the caches of one process share: the Redis, the key prefix, the
// limits, the metrics. It is safe for concurrent use.
type Client struct {
	rdb         redis.Cmdable
	disabled    []string
	single      bool   // one node, where a command may name keys of all slots
	root        string // begins every key, with its colon
	prefix      string // begins every key of a cache
	timeout     time.Duration
	log         *slog.Logger
	metrics     []metric
	localBytes  int64
	bus         eventbus.Bus // nil: none
	id          string       // on the bus
	maxAge      time.Duration
	readOnly    func() bool
	epochUnsure atomic.Bool   // whether Redis has the epoch: it may have lost it
	epoch       atomic.Uint32 // records of an earlier one are absent; 0: not known yet
	reads       *rate.Limiter // nil: no limit
	slots       *semaphore.Weighted
	hot         *topKeys
	clock       syncClock
	wall        func() time.Time // what records say about time

	loads       sync.WaitGroup
	closing     chan struct{} // closed by Wait: second deletions wait no longer
	close       func()
	logThrottle clock.Throttle

	mu     sync.Mutex
	counts map[string]*counters // by policy
	caches []maintained
	states map[string]localState // by policy
	tables map[string][]*Table   // by name
	shares float64               // of localBytes, that are given away
}

// maintained is a cache, for the hub that looks after it.
type maintained interface {
	Stats() Stats
	// maintain does what is to be done about once a second.
	maintain(ctx context.Context)
	// warmPrefix says which keys, by how they begin in Redis, this cache notes as
	// hot; false for none.
	warmPrefix() (prefix string, ok bool)
	// Warm reads what it noted.
	Warm(ctx context.Context) (read int, err error)
}

// localState is what holds something in this process, for the hub that hears of the
// others.
type localState interface {
	// receive forgets keys, by their texts, as if they were invalidated here.
	receive(keys []string)
	// forgetAll drops all entries, and what reads under way will find.
	forgetAll()
	// reset also ends what rests on having heard of all changes, the guard.
	reset()
}

// NewClient builds a Hub on rdb. It starts nothing, sends nothing and closes
// nothing: rdb belongs to the caller. It returns an error if the prefix has a
// brace, which would move the hash tag of every key, or if the Registerer has
// these metrics already.
func NewClient(rdb redis.Cmdable, o Options) (*Client, error) {
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("cache: prefix %q has a brace", o.Prefix)
	}
	_, single := rdb.(*redis.Client)
	root := cmp.Or(o.Prefix, "td") + ":"
	c := &Client{
		rdb:        rdb,
		single:     single,
		root:       root,
		prefix:     root + "cache:",
		disabled:   o.Disabled,
		timeout:    positiveOr(o.RedisTimeout, 250*time.Millisecond),
		log:        cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics:    newMetrics(),
		localBytes: o.LocalBytes,
		slots:      semaphore.NewWeighted(int64(positiveOr(o.MaxLoads, 64))),
		hot:        newTopKeys(),
		bus:        o.Bus,
		id:         rand.Text()[:10],
		maxAge:     positiveOr(o.MaxAge, time.Second),
		readOnly:   o.ReadOnly,
		closing:    make(chan struct{}),
		states:     make(map[string]localState),
		tables:     make(map[string][]*Table),
		wall:       time.Now,
		counts:     make(map[string]*counters),
	}
	if c.readOnly == nil {
		c.readOnly = func() bool { return false }
	}
	c.close = sync.OnceFunc(func() { close(c.closing) })
	c.clock.start(o.SingleProcess)
	if c.bus != nil {
		c.bus.Subscribe(Topic, c.receive)
		c.bus.AddObserver(c)
	}
	if o.ReadLimit > 0 {
		c.reads = rate.NewLimiter(rate.Limit(o.ReadLimit), max(o.ReadLimit/10, 1))
	}
	if o.Registerer == nil {
		return c, nil
	}
	if err := o.Registerer.Register(collector{c}); err != nil {
		return nil, fmt.Errorf("register the cache metrics: %w", err)
	}
	return c, nil
}

// Run moves the clock of the local caches, which serve nothing without it, builds
// guards, keeps what is pinned, and remembers which keys are hot, until ctx ends.
// It returns nil.
func (c *Client) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { c.clock.run(ctx) })
	all.Go(func() { c.maintain(ctx) })
	all.Wait()
	c.SaveHotKeys(context.WithoutCancel(ctx))
	return nil
}

// WaitReady waits until a Hub that runs keeps what is read near: its clock moves, and it hears
// of every invalidation; or for a time, if it does not hear the bus.
func (c *Client) WaitReady(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !c.clock.inSync() && clock.Sleep(ctx, tickEvery) == nil { // a clock that stands still is not in sync
	}
}

const (
	maintainEvery = time.Second
	hotKeysEvery  = time.Minute
)

func (c *Client) maintain(ctx context.Context) {
	c.ensureEpoch(ctx)
	next := time.Now().Add(hotKeysEvery)
	for ctx.Err() == nil {
		for _, m := range c.allCaches() {
			m.maintain(ctx)
		}
		if !time.Now().Before(next) {
			next = time.Now().Add(hotKeysEvery)
			c.SaveHotKeys(ctx)
			c.hot.fade()
		}
		if clock.Sleep(ctx, maintainEvery) == nil {
			c.ensureEpoch(ctx)
		}
	}
}

// ensureEpoch learns the epoch, if it is not known or may have gone by unheard.
func (c *Client) ensureEpoch(ctx context.Context) {
	now := c.clock.now.Load()
	inSync := now < c.clock.synced.Load() || now == stopped // then nothing is kept here anyway
	if c.epoch.Load() != 0 && inSync && !c.epochUnsure.Load() {
		return
	}
	c.epochUnsure.Store(false)
	if err := c.RefreshEpoch(ctx); err != nil {
		c.epochUnsure.Store(true)
		c.logFailure(ctx, "reading the epoch", "", err)
	}
}

// allCaches returns the caches.
func (c *Client) allCaches() []maintained {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.caches)
}

// Stats returns what each cache and window did in this process so far, by name.
func (c *Client) Stats() []Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Stats, 0, len(c.counts))
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		list = append(list, c.counts[name].snapshot())
	}
	return list
}

// HotKeys returns up to n keys that this process reads most, the hottest first.
func (c *Client) HotKeys(n int) []HotKey { return c.hot.top(n) }

// Wait returns when no load is under way any more. Call it at the stop, after the
// last read and before the stores close: a load outlives the read that began it,
// by at most its LoadTimeout and two round trips. Second deletions that were to
// come later are made at once.
func (c *Client) Wait() {
	c.close()
	c.loads.Wait()
}

// register takes a policy in, with what holds something in this process under it and
// with the cache that wants to be looked after, if any.
func (c *Client) register(p Policy, m localState, cache maintained) *counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := p.check(); err != nil {
		panic("cache: " + err.Error())
	}
	if c.counts[p.Name] != nil {
		panic(fmt.Sprintf("cache: two policies are named %q", p.Name))
	}
	if c.shares += p.Local.Share; c.shares > 1+1e-9 {
		panic(fmt.Sprintf("cache: with policy %s, more than the whole local cache is given away", p.Name))
	}
	if m != nil {
		c.states[p.Name] = m
	}
	if cache != nil {
		c.caches = append(c.caches, cache)
	}
	c.counts[p.Name] = &counters{name: p.Name}
	return c.counts[p.Name]
}

// logFailure logs a failure that no caller will hear of, at most every ten seconds.
func (c *Client) logFailure(ctx context.Context, doing, policy string, err error) {
	if c.logThrottle.Allow() {
		c.log.WarnContext(ctx, "cache failed; the loader answers", "doing", doing, "policy", policy, "err", err)
	}
}
