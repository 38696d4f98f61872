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

// Options configures a Client. The zero value is a good setting, but registers no metrics and
// stores nothing in the memory of the process.
type Options struct {
	Prefix        string                // prefix of every key; default "td"
	Registerer    prometheus.Registerer // of the metrics; nil: none
	Log           *slog.Logger          // default slog.DiscardHandler
	RedisTimeout  time.Duration         // deadline of one Redis round trip; default 250ms
	LocalBytes    int64                 // memory for the local caches of all policies; 0: none
	Bus           eventbus.Bus          // carries invalidations between processes; nil: none
	MaxAge        time.Duration         // how long a process is in sync after the bus confirmed it; default 1s
	SingleProcess bool                  // no other process changes the cached data: this one is always in sync
	ReadLimit     int                   // Redis round trips of reads per second, without essential policies; 0: no limit
	MaxLoads      int                   // concurrent loader calls of all policies; default 64
	ReadOnly      func() bool           // reports whether Redis rejects writes: then StaleIfError covers loader failures only; nil: never
	Disabled      []string              // policies whose reads always call the loader, to measure the benefit of the cache
}

// Client holds the resources that the caches of one process share: Redis, the key prefix,
// limits, metrics. It is safe for concurrent use.
type Client struct {
	rdb         redis.Cmdable
	disabled    []string
	single      bool   // one node: a command may name keys of several slots
	root        string // prefix of every key, with its colon
	prefix      string // prefix of every key of a Cache
	timeout     time.Duration
	log         *slog.Logger
	metrics     []metric
	localBytes  int64
	bus         eventbus.Bus // nil: none
	id          string       // on the bus
	maxAge      time.Duration
	readOnly    func() bool
	epochUnsure atomic.Bool   // Redis may have lost the epoch
	epoch       atomic.Uint32 // records of earlier epochs are absent; 0: unknown yet
	reads       *rate.Limiter // nil: no limit
	slots       *semaphore.Weighted
	hot         *topKeys
	clock       syncClock
	wall        func() time.Time // the clock of records

	loads       sync.WaitGroup
	closing     chan struct{} // closed by Wait, which ends the pauses of second deletions
	close       func()
	logThrottle clock.Throttle

	mu     sync.Mutex
	counts map[string]*counters // by policy
	caches []maintained
	states map[string]localState // by policy
	tables map[string][]*Table   // by name
	shares float64               // of localBytes in use
}

// maintained is the part of a cache that its client uses.
type maintained interface {
	Stats() Stats
	// maintain runs about once a second.
	maintain(ctx context.Context)
	// warmPrefix returns the Redis key prefix of this cache, or false if its hot keys are not
	// saved.
	warmPrefix() (prefix string, ok bool)
	Warm(ctx context.Context) (read int, err error)
}

// localState is the state of one policy in this process that bus messages keep fresh.
type localState interface {
	// receive drops keys that another process invalidated.
	receive(keys []string)
	// forgetAll drops all entries and the results of running reads.
	forgetAll()
	// reset also drops the existence filter, which may have missed inserts.
	reset()
}

// NewClient returns a client on rdb, which the caller closes. It starts nothing and sends
// nothing. It returns an error if the prefix contains a brace or if the Registerer already has
// these metrics.
func NewClient(rdb redis.Cmdable, o Options) (*Client, error) {
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("invalid cache prefix %q: contains a brace", o.Prefix) // it would change hash tags
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
		return nil, fmt.Errorf("register cache metrics: %w", err)
	}
	return c, nil
}

// Run moves the clock of the local caches, builds existence filters, reloads pinned keys and
// saves hot keys, until ctx ends. It returns nil. Without it, local caches serve nothing.
func (c *Client) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { c.clock.run(ctx) })
	all.Go(func() { c.maintain(ctx) })
	all.Wait()
	c.SaveHotKeys(context.WithoutCancel(ctx))
	return nil
}

// WaitReady waits until the local caches of a running client are in sync with the bus, at most
// for the timeout.
func (c *Client) WaitReady(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for !c.clock.inSync() && clock.Sleep(ctx, tickEvery) == nil { // a stopped clock is not in sync
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

// ensureEpoch reads the epoch if it is unknown or if this process may have missed a new one.
func (c *Client) ensureEpoch(ctx context.Context) {
	now := c.clock.now.Load()
	inSync := now < c.clock.synced.Load() || now == stopped // a stopped clock: nothing is stored locally
	if c.epoch.Load() != 0 && inSync && !c.epochUnsure.Load() {
		return
	}
	c.epochUnsure.Store(false)
	if err := c.RefreshEpoch(ctx); err != nil {
		c.epochUnsure.Store(true)
		c.logFailure(ctx, "read epoch", "", err)
	}
}

func (c *Client) allCaches() []maintained {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.caches)
}

// Stats returns the counters of each cache and window in this process, sorted by name.
func (c *Client) Stats() []Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Stats, 0, len(c.counts))
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		list = append(list, c.counts[name].snapshot())
	}
	return list
}

// HotKeys returns up to n of the keys that this process reads most, the hottest first.
func (c *Client) HotKeys(n int) []HotKey { return c.hot.top(n) }

// Wait blocks until no load runs. Call it at shutdown, after the last read and before the stores
// close. A load outlives its reader, by at most LoadTimeout and two round trips. Pending second
// deletions run at once.
func (c *Client) Wait() {
	c.close()
	c.loads.Wait()
}

func (c *Client) register(p Policy, m localState, cache maintained) *counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := p.check(); err != nil {
		panic("cache: " + err.Error())
	}
	if c.counts[p.Name] != nil {
		panic(fmt.Sprintf("cache: duplicate policy name %q", p.Name))
	}
	if c.shares += p.Local.Share; c.shares > 1+1e-9 {
		panic(fmt.Sprintf("cache: policy %s: local shares exceed 1 in total", p.Name))
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

// logFailure logs a failure that no caller receives, at most once in ten seconds.
func (c *Client) logFailure(ctx context.Context, doing, policy string, err error) {
	if c.logThrottle.Allow() {
		c.log.WarnContext(ctx, "cache operation failed", "doing", doing, "policy", policy, "err", err)
	}
}
