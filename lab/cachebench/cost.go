package cachebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

const (
	rounds       = 31 // of each contender
	goroutines   = 32 // goroutines that measure a store
	batchReaders = 8  // that read a hundred keys at a time
	text         = 490
)

// blob is a value of about 500 bytes as JSON.
type blob struct {
	Text string `json:"t"`
}

func blobs(_ context.Context, ids []int) (map[int]blob, error) {
	found := make(map[int]blob, len(ids))
	for _, id := range ids {
		found[id] = blob{strings.Repeat("x", text)}
	}
	return found, nil
}

func (b *cacheBench) hit(ctx context.Context) ([]harness.Row, error) {
	h, err := b.newClient(b.rdb, cache.Options{RedisTimeout: subprocess.Patience})
	if err != nil {
		return nil, err
	}
	c := cache.New(h, cache.Policy{Name: "page"}, cache.Source[int, blob]{Key: strconv.Itoa, Load: blobs})
	bytes := cache.New(h, cache.Policy{Name: "bytes"}, cache.Source[int, []byte]{Key: strconv.Itoa, Load: payloads})
	_, err = c.Get(ctx, 1)
	if err == nil {
		_, err = bytes.Get(ctx, 1)
	}
	if err != nil {
		return nil, err
	}
	bare := b.keyOf("page", 1)
	if err := b.plain(ctx, bare); err != nil {
		return nil, err
	}
	got, err := harness.Rounds{Number: rounds, Operations: 12_000, Goroutines: goroutines}.Compare(ctx, []harness.Candidate{
		{Name: "GET", Once: func(ctx context.Context) error { return b.rdb.Get(ctx, bare).Err() }},
		{Name: "GET and decode", Once: func(ctx context.Context) error {
			payload, err := b.rdb.Get(ctx, bare).Bytes()
			if err != nil {
				return err
			}
			return json.Unmarshal(payload, new(blob))
		}},
		{Name: "Get", Once: func(ctx context.Context) error { _, err := c.Get(ctx, 1); return err }},
		{Name: "Get of bytes", Once: func(ctx context.Context) error { _, err := bytes.Get(ctx, 1); return err }},
	})
	if err != nil {
		return nil, err
	}
	line := func(name string, ours, base int, isGoal bool) harness.Row {
		ratio, more := got.Ratio(ours, base), got.Allocs[ours]-got.Allocs[base]
		r := harness.Row{
			What:     name,
			Measured: fmt.Sprintf("%.2f (%.1f ÷ %.1f µs), %+.0f allocations", ratio, got.Median(ours)/1000, got.Median(base)/1000, more),
		}
		if isGoal {
			r.Goal, r.Met = "≤ 1.06, ≤ +3", ratio <= 1.06 && more < 3.5
		}
		return r
	}
	return []harness.Row{
		line("hit in Redis ÷ GET and json.Unmarshal", 2, 1, true),
		line("hit of bytes in Redis ÷ GET", 3, 0, true),
		line("hit in Redis ÷ GET, which decodes nothing", 2, 0, false),
	}, nil
}

func payloads(_ context.Context, ids []int) (map[int][]byte, error) {
	found := make(map[int][]byte, len(ids))
	for _, id := range ids {
		payload, err := json.Marshal(blob{strings.Repeat("x", text)})
		if err != nil {
			return nil, err
		}
		found[id] = payload
	}
	return found, nil
}

// keyOf returns a plain key next to those of the newest client.
func (b *cacheBench) keyOf(name string, id int) string {
	return fmt.Sprintf("%s-%d:plain:%s:{%d}", b.prefix, b.clients, name, id)
}

// plain stores the payload without a cache, for the longest duration of a run.
func (b *cacheBench) plain(ctx context.Context, keys ...string) error {
	payload, err := json.Marshal(blob{strings.Repeat("x", text)})
	if err != nil {
		return err
	}
	pipe := b.rdb.Pipeline()
	for _, key := range keys {
		pipe.Set(ctx, key, payload, time.Hour)
	}
	_, err = pipe.Exec(ctx)
	return err
}

func (b *cacheBench) localHit(ctx context.Context) ([]harness.Row, error) {
	const keys = 1024
	h, err := b.newClient(b.rdb, cache.Options{RedisTimeout: subprocess.Patience, LocalBytes: 64 << 20, SingleProcess: true})
	if err != nil {
		return nil, err
	}
	defer running(ctx, h)()
	c := cache.New(h, cache.Policy{Name: "page", TTL: time.Hour, Local: cache.Local{
		Share: 1, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale,
	}}, cache.Source[int, blob]{Key: strconv.Itoa, Load: blobs})
	alone := otter.Must(&otter.Options[int, *blob]{MaximumWeight: 64 << 20, Weigher: func(int, *blob) uint32 { return 1000 }})
	ids := make([]int, keys)
	for id := range ids {
		ids[id] = id
		alone.Set(id, &blob{strings.Repeat("x", text)})
	}
	before := int64(-1)
	for h.Stats()[0].LocalHits-before < keys { // until all are cached locally
		before = h.Stats()[0].LocalHits
		if _, err := c.GetMany(ctx, ids); err != nil {
			return nil, err
		}
	}
	shallow := context.Background() // the cost of a deep context is measured separately
	request := deep(shallow, 10)
	read := func(ctx context.Context) func(context.Context) error {
		return func(context.Context) error {
			return batch(func(id int) error { _, err := c.Get(ctx, id); return err })
		}
	}
	got, err := harness.Rounds{Number: rounds, Operations: 200, Goroutines: 1}.Compare(ctx, []harness.Candidate{
		{Name: "otter", Once: func(context.Context) error {
			return batch(func(id int) error { alone.GetIfPresent(id); return nil })
		}},
		{Name: "Get", Once: read(shallow)},                          //nolint:contextcheck // as it says
		{Name: "Get with a request's context", Once: read(request)}, //nolint:contextcheck // the row measures its depth
	})
	if err != nil {
		return nil, err
	}
	line := func(name string, i int, isGoal bool) harness.Row {
		more, allocs := (got.Median(i)-got.Median(0))/keys, got.Allocs[i]/keys
		r := harness.Row{What: name, Measured: fmt.Sprintf("%+.1f ns (%.1f − %.1f), %.1f allocations", more, got.Median(i)/keys, got.Median(0)/keys, allocs)}
		if isGoal {
			r.Goal, r.Met = "≤ +10 ns, 0", more <= 10 && allocs < 0.05
		}
		return r
	}
	return []harness.Row{
		line("local hit − otter alone", 1, true),
		line("the same with ten values in the context − otter alone", 2, false),
	}, nil
}

// requestValue is a key of a context as deep as those of requests.
type requestValue int

// deep returns a context with more values.
func deep(ctx context.Context, values int) context.Context {
	if values == 0 {
		return ctx
	}
	return deep(context.WithValue(ctx, requestValue(values), values), values-1)
}

// batch runs 1024 operations, so that the overhead of the measurement does not matter.
func batch(once func(id int) error) error {
	for id := range 1024 {
		if err := once(id); err != nil {
			return err
		}
	}
	return nil
}

func (b *cacheBench) many(ctx context.Context) ([]harness.Row, error) {
	const keys = 100
	rdb, err := subprocess.OpenPatient(b.RedisURL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rdb.Close() }()
	trips := new(trips)
	rdb.AddHook(trips)
	h, err := b.newClient(rdb, cache.Options{RedisTimeout: subprocess.Patience})
	if err != nil {
		return nil, err
	}
	c := cache.New(h, cache.Policy{Name: "page"}, cache.Source[int, blob]{Key: strconv.Itoa, Load: blobs})
	if _, err := c.Get(ctx, keys); err != nil { // loads the scripts
		return nil, err
	}
	ids, bare := make([]int, keys), make([]string, keys)
	for id := range ids {
		ids[id], bare[id] = id, b.keyOf("page", id)
	}
	tripsBefore, callsBefore := trips.Load(), c.Stats().LoadCalls
	if _, err := c.GetMany(ctx, ids); err != nil {
		return nil, err
	}
	missTrips, missCalls := trips.Load()-tripsBefore, c.Stats().LoadCalls-callsBefore
	if err := b.plain(ctx, bare...); err != nil {
		return nil, err
	}
	mget := func(ctx context.Context, each func([]byte) error) error {
		records, err := rdb.MGet(ctx, bare...).Result()
		if err != nil {
			return err
		}
		for _, r := range records {
			s, ok := r.(string)
			if !ok {
				return errors.New("a plain key is absent")
			}
			if err := each([]byte(s)); err != nil {
				return err
			}
		}
		return nil
	}
	got, err := harness.Rounds{Number: rounds, Operations: 640, Goroutines: batchReaders}.Compare(ctx, []harness.Candidate{
		{Name: "MGET", Once: func(ctx context.Context) error { return mget(ctx, func([]byte) error { return nil }) }},
		{Name: "MGET and decode", Once: func(ctx context.Context) error {
			return mget(ctx, func(payload []byte) error { return json.Unmarshal(payload, new(blob)) })
		}},
		{Name: "GetMany", Once: func(ctx context.Context) error { _, err := c.GetMany(ctx, ids); return err }},
	})
	if err != nil {
		return nil, err
	}
	line := func(name string, base int, isGoal bool) harness.Row {
		ratio := got.Ratio(2, base)
		r := harness.Row{
			What:     "100 hits ÷ " + name,
			Measured: fmt.Sprintf("%.2f (%.0f ÷ %.0f µs)", ratio, got.Median(2)/1000, got.Median(base)/1000),
		}
		if isGoal {
			r.Goal, r.Met = "≤ 1.15", ratio <= 1.15
		}
		return r
	}
	return []harness.Row{
		line("MGET and json.Unmarshal", 1, true), line("MGET, which decodes nothing", 0, false),
		{
			What: "100 misses", Measured: fmt.Sprintf("%d loader calls, %d round trips", missCalls, missTrips),
			Goal: "1, ≤ 4", Met: missCalls == 1 && missTrips <= 4,
		},
	}, nil
}

// trips counts round trips of a client.
type trips struct{ atomic.Int64 }

func (t *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmd)
	}
}

func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmds)
	}
}
