package testkit

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Refusal is a state in which a Redis answers reads and rejects writes.
type Refusal struct {
	Name       string
	Begin, End func(ctx context.Context, admin *redis.Client) error
}

// Refusals returns the refusals of a single server. The server must be from [RefusingRedis].
func Refusals() []Refusal {
	do := func(commands ...[]any) func(context.Context, *redis.Client) error {
		return func(ctx context.Context, admin *redis.Client) error {
			for _, args := range commands {
				if err := admin.Do(ctx, args...).Err(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []Refusal{
		{"READONLY", do([]any{"REPLICAOF", "127.0.0.1", "1"}), do([]any{"REPLICAOF", "NO", "ONE"})},
		{"MISCONF", failSave, do([]any{"CONFIG", "SET", "save", ""})},
		{"NOREPLICAS", do([]any{"CONFIG", "SET", "min-replicas-to-write", "1"}), do([]any{"CONFIG", "SET", "min-replicas-to-write", "0"})},
		{
			"OOM", do([]any{"CONFIG", "SET", "maxmemory-clients", "64mb"}, []any{"CONFIG", "SET", "maxmemory", "1"}),
			do([]any{"CONFIG", "SET", "maxmemory", "0"}),
		},
	}
}

// RefusingRedis is like [Redis], but [Refusals] may remove the server's directory.
func RefusingRedis(tb testing.TB) (url string) {
	tb.Helper()
	dir, err := os.MkdirTemp(shortTemp(), "td") //nolint:usetesting // a test removes it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Redis(tb, "--dir", dir)
}

// failSave removes the directory of a Redis and waits until a save has failed.
func failSave(ctx context.Context, admin *redis.Client) error {
	dir, err := admin.ConfigGet(ctx, "dir").Result()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Clean(dir["dir"])); err != nil {
		return err
	}
	if err := admin.Do(ctx, "CONFIG", "SET", "save", "1 1").Err(); err != nil {
		return err
	}
	_ = admin.BgSave(ctx).Err() //nolint:forbidigo // a Redis of this test alone
	for {
		err := admin.Set(ctx, "td:refusal", "1", time.Millisecond).Err()
		if redis.HasErrorPrefix(err, "MISCONF") || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
}
