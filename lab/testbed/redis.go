package testbed

import (
	"context"
	_ "embed" // the script
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/harness"
)

//go:embed lua/take.lua
var takeLua string

const (
	ceilingCallers  = 64
	ceilingPipeline = 16
)

// RedisCeiling measures the rate of a Redis alone, with many callers in this process. A server that
// sends one command per request cannot be faster. RedisCeiling deletes its keys, which begin with
// prefix.
func RedisCeiling(ctx context.Context, rdb redis.UniversalClient, prefix string, dur time.Duration) ([]harness.Row, error) {
	keys := []string{prefix + ":{ceiling}:stock", prefix + ":{ceiling}:buyers"}
	value := make([]byte, 400) // of a shop
	if err := rdb.Set(ctx, keys[0], value, time.Hour).Err(); err != nil {
		return nil, fmt.Errorf("set a key: %w", err)
	}
	defer rdb.Unlink(context.WithoutCancel(ctx), append(keys, prefix+":{ceiling}:value")...)
	take := redis.NewScript(takeLua)
	if err := take.Load(ctx, rdb).Err(); err != nil {
		return nil, fmt.Errorf("load a script: %w", err)
	}
	var n atomic.Int64
	var rows []harness.Row
	for _, one := range []struct {
		what  string
		times int
		ask   func() error
	}{
		{"GET of 400 bytes", 1, func() error { return rdb.Get(ctx, keys[0]).Err() }},
		{"SET of 400 bytes", 1, func() error { return rdb.Set(ctx, prefix+":{ceiling}:value", value, time.Hour).Err() }},
		{"a script that sells one item to a user", 1, func() error { return take.EvalSha(ctx, rdb, keys[1:], n.Add(1)).Err() }},
		{fmt.Sprintf("GET, %d in a pipeline", ceilingPipeline), ceilingPipeline, func() error {
			_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for range ceilingPipeline {
					p.Get(ctx, keys[0])
				}
				return nil
			})
			return err
		}},
	} {
		before, err := usedByRedis(ctx, rdb)
		if err != nil {
			return nil, err
		}
		runtime.GC()
		var done atomic.Int64
		begin := time.Now()
		_, err = harness.RunParallel(ctx, ceilingCallers, ceilingCallers, func(context.Context) error {
			for time.Since(begin) < dur {
				if err := one.ask(); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.what, err)
		}
		took := time.Since(begin)
		after, err := usedByRedis(ctx, rdb)
		if err != nil {
			return nil, err
		}
		all := float64(done.Load()) * float64(one.times)
		rows = append(rows, harness.Row{
			What:     fmt.Sprintf("%s, %d callers, a second", one.what, ceilingCallers),
			Measured: fmt.Sprintf("%.0f; %.1f µs of Redis each", all/took.Seconds(), float64((after-before).Microseconds())/all),
		})
	}
	return rows, nil
}
