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
	rdb        redis.Cmdable
	off        []string
	single     bool   // one node, where a command may name keys of all slots
	root       string // begins every key, with its colon
	prefix     string // begins every key of a cache
	timeout    time.Duration
	log        *slog.Logger
	metrics    []metric
	localBytes int64
	bus        eventbus.Bus // nil: none
	id         string       // on the bus
	maxAge     time.Duration
	readOnly   func() bool
	unsure     atomic.Bool   // whether Redis has the epoch: it may have lost it
	epoch      atomic.Uint32 // records of an earlier one are absent; 0: not known yet
	reads      *rate.Limiter // nil: no limit
	places     *semaphore.Weighted
	hot        *topKeys
	clock      syncClock
	wall       func() time.Time // what records say about time

	loads      sync.WaitGroup
	closing    chan struct{} // closed by Wait: second deletions wait no longer
	close      func()
	complaints clock.Throttle

	mu      sync.Mutex
	counts  map[string]*counters // by policy
	caches  []maintained
	members map[string]member   // by policy
	tables  map[string][]*Table // by name
	shares  float64             // of localBytes, that are given away
}

// maintained is a cache, for the hub that looks after it.
type maintained interface {
	Stats() Stats
	// tend does what is to be done about once a second.
	tend(ctx context.Context)
	// remembers says which keys, by how they begin in Redis, this cache notes as
	// hot; false for none.
	remembers() (prefix string, ok bool)
	// Warm reads what it noted.
	Warm(ctx context.Context) (read int, err error)
}

// member is what holds something in this process, for the hub that hears of the
// others.
type member interface {
	// heard forgets keys, by their texts, as if they were invalidated here.
	heard(keys []string)
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
	h := &Client{
		rdb:        rdb,
		single:     single,
		root:       root,
		prefix:     root + "cache:",
		off:        o.Disabled,
		timeout:    positiveOr(o.RedisTimeout, 250*time.Millisecond),
		log:        cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics:    newMetrics(),
		localBytes: o.LocalBytes,
		places:     semaphore.NewWeighted(int64(positiveOr(o.MaxLoads, 64))),
		hot:        newTopKeys(),
		bus:        o.Bus,
		id:         rand.Text()[:10],
		maxAge:     positiveOr(o.MaxAge, time.Second),
		readOnly:   o.ReadOnly,
		closing:    make(chan struct{}),
		members:    make(map[string]member),
		tables:     make(map[string][]*Table),
		wall:       time.Now,
		counts:     make(map[string]*counters),
	}
	if h.readOnly == nil {
		h.readOnly = func() bool { return false }
	}
	h.close = sync.OnceFunc(func() { close(h.closing) })
	h.clock.start(o.SingleProcess)
	if h.bus != nil {
		h.bus.Subscribe(Topic, h.receive)
		h.bus.AddObserver(h)
	}
	if o.ReadLimit > 0 {
		h.reads = rate.NewLimiter(rate.Limit(o.ReadLimit), max(o.ReadLimit/10, 1))
	}
	if o.Registerer == nil {
		return h, nil
	}
	if err := o.Registerer.Register(collector{h}); err != nil {
		return nil, fmt.Errorf("register the cache metrics: %w", err)
	}
	return h, nil
}

// Run moves the clock of the local caches, which serve nothing without it, builds
// guards, keeps what is pinned, and remembers which keys are hot, until ctx ends.
// It returns nil.
func (h *Client) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { h.clock.run(ctx) })
	all.Go(func() { h.tend(ctx) })
	all.Wait()
	h.SaveHotKeys(context.WithoutCancel(ctx))
	return nil
}

// WaitReady waits until a Hub that runs keeps what is read near: its clock moves, and it hears
// of every invalidation; or for a time, if it does not hear the bus.
func (h *Client) WaitReady(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for !h.clock.inSync() && clock.Sleep(ctx, tickEvery) == nil { // a clock that stands still is not in sync
	}
}

const (
	tendEvery = time.Second
	fadeEvery = time.Minute
)

func (h *Client) tend(ctx context.Context) {
	h.knowEpoch(ctx)
	next := time.Now().Add(fadeEvery)
	for ctx.Err() == nil {
		for _, m := range h.joined() {
			m.tend(ctx)
		}
		if !time.Now().Before(next) {
			next = time.Now().Add(fadeEvery)
			h.SaveHotKeys(ctx)
			h.hot.fade()
		}
		if clock.Sleep(ctx, tendEvery) == nil {
			h.knowEpoch(ctx)
		}
	}
}

// knowEpoch learns the epoch, if it is not known or may have gone by unheard.
func (h *Client) knowEpoch(ctx context.Context) {
	now := h.clock.now.Load()
	heard := now < h.clock.synced.Load() || now == stopped // then nothing is kept here anyway
	if h.epoch.Load() != 0 && heard && !h.unsure.Load() {
		return
	}
	h.unsure.Store(false)
	if err := h.RefreshEpoch(ctx); err != nil {
		h.unsure.Store(true)
		h.logFailure(ctx, "reading the epoch", "", err)
	}
}

// joined returns the caches.
func (h *Client) joined() []maintained {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.caches)
}

// Stats returns what each cache and window did in this process so far, by name.
func (h *Client) Stats() []Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Stats, 0, len(h.counts))
	for _, name := range slices.Sorted(maps.Keys(h.counts)) {
		list = append(list, h.counts[name].snapshot())
	}
	return list
}

// HotKeys returns up to n keys that this process reads most, the hottest first.
func (h *Client) HotKeys(n int) []HotKey { return h.hot.top(n) }

// Wait returns when no load is under way any more. Call it at the stop, after the
// last read and before the stores close: a load outlives the read that began it,
// by at most its LoadTimeout and two round trips. Second deletions that were to
// come later are made at once.
func (h *Client) Wait() {
	h.close()
	h.loads.Wait()
}

// join takes a policy in, with what holds something in this process under it and
// with the cache that wants to be looked after, if any.
func (h *Client) join(p Policy, m member, c maintained) *counters {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := p.check(); err != nil {
		panic("cache: " + err.Error())
	}
	if h.counts[p.Name] != nil {
		panic(fmt.Sprintf("cache: two policies are named %q", p.Name))
	}
	if h.shares += p.Local.Share; h.shares > 1+1e-9 {
		panic(fmt.Sprintf("cache: with policy %s, more than the whole local cache is given away", p.Name))
	}
	if m != nil {
		h.members[p.Name] = m
	}
	if c != nil {
		h.caches = append(h.caches, c)
	}
	h.counts[p.Name] = &counters{name: p.Name}
	return h.counts[p.Name]
}

// logFailure logs a failure that no caller will hear of, at most every ten seconds.
func (h *Client) logFailure(ctx context.Context, doing, policy string, err error) {
	if h.complaints.Allow() {
		h.log.WarnContext(ctx, "cache failed; the loader answers", "doing", doing, "policy", policy, "err", err)
	}
}
