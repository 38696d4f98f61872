package flashsale

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Decided entries leave the stream unless an earlier one is undecided. Unread entries stay even
// if a later one is acknowledged.
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
				t.Errorf("%s: got %d entries left, want %d", what, n, left)
			}
		}
		ended("second while the first is undecided", 5, ids[1])
		ended("first", 3, ids[0])
		stuck := &redis.XClaimArgs{Stream: stream, Group: group, Consumer: "b", Messages: ids[2:3]}
		if err := g.Redis.Do(t.Context(), "XCLAIM", stuck.Stream, stuck.Group, stuck.Consumer, 0, ids[2], "IDLE", 10_000).Err(); err != nil {
			t.Fatal(err)
		}
		ended("fourth while the third is late", 2, ids[3])
		ended("third", 1, ids[2])
		ended("third again", 1, ids[2])
		ended("fifth, read from another server", 0, ids[4])
		if err := g.Redis.Unlink(t.Context(), stream).Err(); err != nil {
			t.Fatal(err)
		}
		ended("missing entry", 0, ids[0])
	})
}

// Without the consumer group, each entry is deleted alone.
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
			t.Errorf("got %v left, want the first", left)
		}
	})
}
