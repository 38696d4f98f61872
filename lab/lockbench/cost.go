package lockbench

import (
	"context"
	"crypto/rand"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

//go:embed lua/unlock.lua
var unlockLua string

// cost compares lock and unlock with redsync alone, and with the minimum of any lock on Redis: SET
// NX PX of a random value, and a script that deletes the key if it still has that value. The latter
// does not notify waiters.
func (b *lockBench) cost(ctx context.Context) (rows []harness.Row, err error) {
	l, err := lock.NewRedis([]redis.UniversalClient{b.rdb}, lock.Options{Prefix: b.part(), NodeTimeout: subprocess.Patience})
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		err = errors.Join(err, l.Close(ctx))
	}()
	bare := bareLock{rdb: b.rdb, key: b.part() + ":bare", script: redis.NewScript(unlockLua)}
	redsync := newAlone(b.part(), []redis.UniversalClient{b.rdb})
	got, err := harness.Rounds{Number: b.Rounds, Operations: 100, Goroutines: 1}.Compare(ctx, []harness.Candidate{
		{Name: "bare", Once: bare.once},
		{Name: "redsync", Once: func(ctx context.Context) error { return once(ctx, redsync) }},
		{Name: "Acquire", Once: func(ctx context.Context) error { return once(ctx, ours{l}) }},
	})
	if err != nil {
		return nil, err
	}
	line := func(i, base int, what string) harness.Row {
		return harness.Row{What: what, Measured: fmt.Sprintf("%.2f (%.1f ÷ %.1f µs), %+.0f allocations",
			got.Ratio(i, base), got.Median(i)/1000, got.Median(base)/1000, got.Allocs[i]-got.Allocs[base])}
	}
	return []harness.Row{
		line(2, 1, "lock and unlock ÷ redsync alone"),
		line(2, 0, "the same ÷ SET NX PX and a script that deletes"),
		line(1, 0, "redsync alone ÷ these"),
	}, nil
}

// once locks and unlocks.
func once(ctx context.Context, w locking) error {
	h, err := w.acquire(ctx, "cost")
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

// bareLock is the recipe without a library.
type bareLock struct {
	rdb    redis.UniversalClient
	key    string
	script *redis.Script
}

func (b bareLock) once(ctx context.Context) error {
	value := rand.Text()
	ok, err := b.rdb.SetNX(ctx, b.key, value, 8*time.Second).Result()
	if err != nil {
		return err
	}
	deleted, err := b.script.Run(ctx, b.rdb, []string{b.key}, value).Bool()
	if err == nil && (!ok || !deleted) {
		err = errors.New("the bare lock has another holder")
	}
	return err
}
