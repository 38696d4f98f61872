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
	"github.com/tandian-dev/tandian/internal/kit/lock/lua"
	"github.com/tandian-dev/tandian/lab/harness"
)

//go:embed lua/unlock.lua
var unlockLua string

// cost sets lock and unlock beside the scripts that they run, called by hand, and
// beside the least that any lock on Redis does: SET NX PX of a random value, and a
// script that deletes the key if it still has it. Those hand out no token and wake
// nobody.
func (b *lockBench) cost(ctx context.Context) (rows []harness.Row, err error) {
	l, err := lock.NewRedis([]redis.UniversalClient{b.rdb}, lock.Options{Prefix: b.part()})
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
	got, err := harness.Rounds{Number: b.Rounds, Operations: 100, Goroutines: 1}.Compare(ctx, []harness.Contender{
		{Name: "bare", Once: bare.once},
		{Name: "scripts", Once: bare.scripts},
		{Name: "Acquire", Once: func(ctx context.Context) error { return once(ctx, ours{l}) }},
		{Name: "redsync", Once: func(ctx context.Context) error { return once(ctx, redsync) }},
	})
	if err != nil {
		return nil, err
	}
	line := func(i, base int, what string) harness.Row {
		return harness.Row{What: what, Measured: fmt.Sprintf("%.2f (%.1f ÷ %.1f µs), %+.0f allocations",
			got.Ratio(i, base), got.Median(i)/1000, got.Median(base)/1000, got.Allocs[i]-got.Allocs[base])}
	}
	goal := func(r harness.Row, base int) harness.Row {
		r.Goal, r.Met = "≤ 1.15", got.Ratio(2, base) <= 1.15
		return r
	}
	return []harness.Row{
		goal(line(2, 1, "lock and unlock ÷ its two scripts, called by hand"), 1),
		goal(line(2, 0, "the same ÷ SET NX PX and a script that deletes: no token, nobody is woken"), 0),
		line(3, 0, "redsync alone ÷ these"),
	}, nil
}

// once locks and unlocks.
func once(ctx context.Context, w way) error {
	h, _, err := w.acquire(ctx, "cost")
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

// bareLock is what can be done by hand.
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
		err = errors.New("the bare lock was somebody else's")
	}
	return err
}

var (
	acquireScript = redis.NewScript(lua.Acquire)
	releaseScript = redis.NewScript(lua.Release)
)

// scripts runs what package lock runs, on keys of its own.
func (b bareLock) scripts(ctx context.Context) error {
	value, key := rand.Text(), b.key+"-scripts"
	token, err := acquireScript.Run(ctx, b.rdb, []string{key, key + ":f"}, value, 8000, 86_400_000).Text()
	if err != nil {
		return err
	}
	released, err := releaseScript.Run(ctx, b.rdb, []string{key, key + ":f", key + ":c"}, value, token).Int64()
	if err == nil && released != 1 {
		err = errors.New("the bare lock was somebody else's")
	}
	return err
}
