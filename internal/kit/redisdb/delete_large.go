package redisdb

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// sweepStep is the number of members deleted per command: about 50 µs of the server's thread.
const sweepStep = 100

// DeleteLarge deletes a key of any size. It removes the members of a large hash, set, sorted set or
// list in steps of a hundred. So other clients wait only for one step. UNLINK deletes the rest, keys
// of up to a hundred members and other types.
//
// For other clients, the key disappears at once, as after DEL: DeleteLarge first renames it, within
// its slot, to its name and ":sweep". Later writes to the name create a new key, which stays.
// Several calls for one key may run in parallel. A missing key is no error.
//
// A call that ends early, by ctx or an error, leaves the renamed key with its TTL. The next
// DeleteLarge of the same key removes it. ctx limits the whole call; the client's timeout limits
// each step. On a cluster, DeleteLarge returns an error for a key whose braces are no hash tag,
// because it cannot be renamed within its slot.
func DeleteLarge(ctx context.Context, rdb redis.Cmdable, key string) error {
	rest := restOf(key)
	if err := drain(ctx, rdb, rest); err != nil {
		return fmt.Errorf("finish an earlier deletion: %w", err)
	}
	keys, err := MeasureKeys(ctx, rdb, key)
	if err != nil || len(keys) == 0 {
		return err
	}
	if !sweepable(keys[0]) {
		return unlink(ctx, rdb, key)
	}
	// RENAMENX changes nothing if a concurrent call has just moved the key there. Then both drain it.
	if err := rdb.RenameNX(ctx, key, rest).Err(); err != nil && !redis.HasErrorPrefix(err, "no such key") {
		return fmt.Errorf("rename key before deletion: %w", err)
	}
	if err := drain(ctx, rdb, rest); err != nil {
		return fmt.Errorf("delete large key: %w", err)
	}
	return nil
}

// restOf returns the name of a key during deletion. It is in the slot of key.
func restOf(key string) string {
	if tag := hashTag.FindString(key); len(tag) > len("{}") {
		return key + ":sweep"
	}
	return "{" + key + "}:sweep"
}

// sweepable reports whether a key is deleted in steps.
func sweepable(k Key) bool {
	switch k.Type {
	case "hash", "set", "zset", "list":
		return k.Members > sweepStep
	}
	return false
}

func unlink(ctx context.Context, rdb redis.Cmdable, key string) error {
	if err := rdb.Unlink(ctx, key).Err(); err != nil {
		return fmt.Errorf("unlink key: %w", err)
	}
	return nil
}

// drain deletes a key to which no client adds members.
func drain(ctx context.Context, rdb redis.Cmdable, key string) error {
	keys, err := MeasureKeys(ctx, rdb, key)
	if err != nil || len(keys) == 0 {
		return err
	}
	if sweepable(keys[0]) {
		switch keys[0].Type {
		case "hash":
			// HSCAN returns values too; NOVALUES requires Redis 7.4.
			err = scanAndRemove(2, func(cursor uint64) *redis.ScanCmd { return rdb.HScan(ctx, key, cursor, "", sweepStep) },
				func(fields []string) error { return rdb.HDel(ctx, key, fields...).Err() })
		case "set":
			err = scanAndRemove(1, func(cursor uint64) *redis.ScanCmd { return rdb.SScan(ctx, key, cursor, "", sweepStep) },
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

// inSteps calls remove once per sweepStep of members.
func inSteps(members int64, remove func() error) error {
	for range members / sweepStep {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

// scanAndRemove scans a collection and removes the members found. every is the number of scan items
// per member; the first is the name. A scan may return more items than requested.
func scanAndRemove(every int, scan func(cursor uint64) *redis.ScanCmd, remove func(members []string) error) error {
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
