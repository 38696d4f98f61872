package flashsale

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// What is decided goes as soon as nothing before it is under way, and what nobody has
// read stays, whoever says that it is done behind it.
func TestOnlyDecidedEntriesLeaveTheStream(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on, func(*Config, *redisdb.RedisConfig) {})
		stream := g.admitter.keys.orders(0)
		var ids []string
		for range 5 {
			ids = append(ids, g.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"o", "1"}}).Val())
		}
		if err := g.Redis.XGroupCreate(t.Context(), stream, group, "0").Err(); err != nil {
			t.Fatal(err)
		}
		if err := g.Redis.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "a", Streams: []string{stream, ">"}, Count: 4}).Err(); err != nil {
			t.Fatal(err)
		}
		ended := func(what string, left int64, which ...string) {
			t.Helper()
			if err := g.admitter.done(t.Context(), 0, which, nil); err != nil {
				t.Fatal(err)
			}
			if n := g.Redis.XLen(t.Context(), stream).Val(); n != left {
				t.Errorf("%s: %d are left, want %d", what, n, left)
			}
		}
		ended("the second, while the first is under way", 5, ids[1])
		ended("the first", 3, ids[0])
		stuck := &redis.XClaimArgs{Stream: stream, Group: group, Consumer: "b", Messages: ids[2:3]}
		if err := g.Redis.Do(t.Context(), "XCLAIM", stuck.Stream, stuck.Group, stuck.Consumer, 0, ids[2], "IDLE", 10_000).Err(); err != nil {
			t.Fatal(err)
		}
		ended("the fourth, while the third is stuck", 2, ids[3])
		ended("the third", 1, ids[2])
		ended("the third again", 1, ids[2])
		ended("the fifth, which another server handed out", 0, ids[4])
		if err := g.Redis.Unlink(t.Context(), stream).Err(); err != nil {
			t.Fatal(err)
		}
		ended("one that Redis forgot", 0, ids[0])
	})
}

// Without the group of consumers, each goes by itself.
func TestWithoutAGroupEntriesAreDeletedAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on, func(*Config, *redisdb.RedisConfig) {})
		stream := g.admitter.keys.orders(0)
		first := g.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"o", "1"}}).Val()
		second := g.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"o", "2"}}).Val()
		if err := g.admitter.done(t.Context(), 0, []string{second}, nil); err != nil {
			t.Fatal(err)
		}
		if left := g.Redis.XRange(t.Context(), stream, "-", "+").Val(); len(left) != 1 || left[0].ID != first {
			t.Errorf("left is %v, want the first", left)
		}
	})
}
