package redisdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// sweepStep is how many members go at once: some 50 µs of the server's one thread.
const sweepStep = 100

// DeleteLarge deletes a key of any size. A hash, set, sorted set or list of more than
// a hundred members loses a hundred at a time, so that no other client waits for
// longer than that takes; what is smaller, of another type or left in the end
// goes by UNLINK.
//
// For everybody else the key is gone at once, as after DEL: it is renamed first,
// to its name and ":sweep" in the same slot. What others write under the name
// from then on is a new key, and stays. Any number of sweeps of one key may run
// at once. One that ended early, by ctx or an error, leaves the renamed rest, with
// what TTL the key had; the next Sweep of the same key removes it. No key is no error.
//
// ctx bounds the whole, the client's own time limits each step. On a cluster, a
// key with braces that are no hash tag cannot be renamed within its slot, which
// is an error.
func DeleteLarge(ctx context.Context, rdb redis.Cmdable, key string) error {
	rest := restOf(key)
	if err := drain(ctx, rdb, rest); err != nil {
		return fmt.Errorf("sweep what an earlier sweep left of a key: %w", err)
	}
	keys, err := MeasureKeys(ctx, rdb, key)
	if err != nil || len(keys) == 0 {
		return err
	}
	if !sweepable(keys[0]) {
		return unlink(ctx, rdb, key)
	}
	// It refuses if another sweep has just moved the key there: then that sweep
	// and this one drain it together.
	if err := rdb.RenameNX(ctx, key, rest).Err(); err != nil && !redis.HasErrorPrefix(err, "no such key") {
		return fmt.Errorf("put a key aside to sweep it: %w", err)
	}
	if err := drain(ctx, rdb, rest); err != nil {
		return fmt.Errorf("sweep a key: %w", err)
	}
	return nil
}

// restOf names what is being swept. It lies in the slot of key.
func restOf(key string) string {
	if tag := hashTag.FindString(key); len(tag) > len("{}") {
		return key + ":sweep"
	}
	return "{" + key + "}:sweep"
}

// sweepable reports whether a key is worth several steps.
func sweepable(k Key) bool {
	switch k.Type {
	case "hash", "set", "zset", "list":
		return k.Members > sweepStep
	}
	return false
}

func unlink(ctx context.Context, rdb redis.Cmdable, key string) error {
	if err := rdb.Unlink(ctx, key).Err(); err != nil {
		return fmt.Errorf("unlink a key: %w", err)
	}
	return nil
}

// drain empties a key that nobody adds to.
func drain(ctx context.Context, rdb redis.Cmdable, key string) error {
	keys, err := MeasureKeys(ctx, rdb, key)
	if err != nil || len(keys) == 0 {
		return err
	}
	if sweepable(keys[0]) {
		switch keys[0].Type {
		case "hash":
			// HSCAN has values too; one without (NOVALUES) came with Redis 7.4.
			err = scanAway(2, func(cursor uint64) *redis.ScanCmd { return rdb.HScan(ctx, key, cursor, "", sweepStep) },
				func(fields []string) error { return rdb.HDel(ctx, key, fields...).Err() })
		case "set":
			err = scanAway(1, func(cursor uint64) *redis.ScanCmd { return rdb.SScan(ctx, key, cursor, "", sweepStep) },
				func(members []string) error { return rdb.SRem(ctx, key, any(members)).Err() })
		case "zset":
			err = inSteps(keys[0].Members, func() error { return rdb.ZRemRangeByRank(ctx, key, 0, sweepStep-1).Err() })
		case "list":
			err = inSteps(keys[0].Members, func() error { return rdb.LTrim(ctx, key, sweepStep, -1).Err() })
		}
		if err != nil {
			return fmt.Errorf("remove members of a %s: %w", keys[0].Type, err)
		}
	}
	return unlink(ctx, rdb, key)
}

// inSteps calls remove as often as it takes for so many members.
func inSteps(members int64, remove func() error) error {
	for range members / sweepStep {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

// scanAway walks once over a collection and removes what it sees. every is how
// many items of a scan belong to one member, whose name is the first of them. A
// scan may bring more than it was asked for.
func scanAway(every int, scan func(cursor uint64) *redis.ScanCmd, remove func(members []string) error) error {
	for cursor, begun := uint64(0), false; !begun || cursor != 0; begun = true {
		var items, names []string
		var err error
		if items, cursor, err = scan(cursor).Result(); err != nil {
			return err
		}
		for member := range slices.Chunk(items, every) {
			names = append(names, member[0])
		}
		for some := range slices.Chunk(names, sweepStep) {
			if err := remove(some); err != nil {
				return err
			}
		}
	}
	return nil
}
