package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// batch bounds the keys of one command and the commands of one pipeline.
const batch = 500

// Options tunes a Hub. The zero value is a good setting, except that it shows no
// metrics.
type Options struct {
	Prefix       string                // begins every key; default "td"
	Registerer   prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log          *slog.Logger          // default slog.DiscardHandler
	RedisTimeout time.Duration         // deadline of one round trip; default 250ms
}

// Hub is what the caches of one process share: the Redis, the key prefix, the
// metrics. It is safe for concurrent use.
type Hub struct {
	rdb     redis.UniversalClient
	single  bool // one node, where a command may name keys of all slots
	prefix  string
	timeout time.Duration
	log     *slog.Logger
	metrics []metric

	loads      sync.WaitGroup
	complaints clock.Seldom

	mu       sync.Mutex
	policies map[string]*counters
}

// NewHub builds a Hub on rdb. It starts nothing, sends nothing and closes
// nothing: rdb belongs to the caller. It returns an error if the prefix has a
// brace, which would move the hash tag of every key, or if the Registerer has
// these metrics already.
func NewHub(rdb redis.UniversalClient, o Options) (*Hub, error) {
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("cache: prefix %q has a brace", o.Prefix)
	}
	_, single := rdb.(*redis.Client)
	h := &Hub{
		rdb:      rdb,
		single:   single,
		prefix:   cmp.Or(o.Prefix, "td") + ":cache:",
		timeout:  positiveOr(o.RedisTimeout, 250*time.Millisecond),
		log:      cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics:  newMetrics(),
		policies: make(map[string]*counters),
	}
	if o.Registerer == nil {
		return h, nil
	}
	if err := o.Registerer.Register(collector{h}); err != nil {
		return nil, fmt.Errorf("register the cache metrics: %w", err)
	}
	return h, nil
}

// Wait returns when no load is under way any more. Call it at the stop, after the
// last read and before the stores close: a load outlives the read that began it,
// by at most its LoadTimeout and two round trips.
func (h *Hub) Wait() { h.loads.Wait() }

// join takes a policy in and returns its counters.
func (h *Hub) join(p Policy) *counters {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !p.named() {
		panic(fmt.Sprintf("cache: %q cannot be the name of a policy", p.Name))
	}
	if h.policies[p.Name] != nil {
		panic(fmt.Sprintf("cache: two policies are named %q", p.Name))
	}
	h.policies[p.Name] = new(counters)
	return h.policies[p.Name]
}

// complain logs a failure that no caller will hear of, at most every ten seconds.
func (h *Hub) complain(ctx context.Context, doing, policy string, err error) {
	if h.complaints.Due() {
		h.log.WarnContext(ctx, "cache failed; the loader answers", "doing", doing, "policy", policy, "err", err)
	}
}

// reply is Redis' answer for one key: a record, which may be empty, or none, or
// an error.
type reply struct {
	record []byte
	there  bool
	err    error
}

func readGet(cmd *redis.StringCmd) reply {
	record, err := cmd.Bytes()
	if errors.Is(err, redis.Nil) {
		return reply{}
	}
	return reply{record: record, there: err == nil, err: err}
}

// get reads one record.
func (h *Hub) get(ctx context.Context, key string) reply {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return readGet(h.rdb.Get(ctx, key))
}

// getMany reads the records of up to 500 keys in one round trip: one MGET on a
// single node, else a pipeline, which a cluster client splits by node.
func (h *Hub) getMany(ctx context.Context, keys []string) []reply {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	replies := make([]reply, len(keys))
	if h.single {
		records, err := h.rdb.MGet(ctx, keys...).Result()
		for i := range replies {
			if err != nil {
				replies[i].err = err
			} else if s, ok := records[i].(string); ok {
				replies[i] = reply{record: []byte(s), there: true}
			}
		}
		return replies
	}
	pipe := h.rdb.Pipeline()
	cmds := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		cmds[i] = pipe.Get(ctx, key)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, cmd := range cmds {
		replies[i] = readGet(cmd)
	}
	return replies
}

// remove deletes up to 500 keys with their leases in one round trip.
func (h *Hub) remove(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	pipe := h.rdb.Pipeline()
	for _, key := range keys {
		pipe.Del(ctx, key, leaseOf(key))
	}
	_, err := pipe.Exec(ctx)
	return err
}
