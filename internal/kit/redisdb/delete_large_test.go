package redisdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// An interceptor is called before each command, and may reject it.
type interceptor func(cmd redis.Cmder) error

func (w interceptor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := w(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (interceptor) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (interceptor) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// remaining returns the keys of the test.
func remaining(t *testing.T, rdb redis.UniversalClient) (names []string) {
	t.Helper()
	if err := (KeyScan{Prefix: "td:"}).Each(t.Context(), rdb, func(k Key) { names = append(names, k.Name) }); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDeleteLargeUsesSmallSteps(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		var mu sync.Mutex
		sent := map[string]int{}
		rdb.AddHook(interceptor(func(cmd redis.Cmder) error {
			mu.Lock()
			defer mu.Unlock()
			sent[cmd.Name()]++
			if n := len(cmd.Args()); n > 2+sweepStep {
				t.Errorf("%s: got %d arguments", cmd.Name(), n)
			}
			if cmd.Name() == "del" {
				t.Error("got a DEL")
			}
			return nil
		}))
		for _, n := range []int{1, 100, 101, 250, 3000} {
			seedKeys(t, rdb, "td:", n)
			for _, kind := range types() {
				if err := DeleteLarge(t.Context(), rdb, "td:"+kind+":{1}"); err != nil {
					t.Fatalf("a %s of %d members: %v", kind, n, err)
				}
			}
			if left := remaining(t, rdb); len(left) > 0 {
				t.Errorf("keys with %d members: got %v left", n, left)
			}
		}
		// The embedded Redis skips members in a scan with removals: UNLINK deletes those.
		for _, command := range []string{"hdel", "srem", "zremrangebyrank", "ltrim"} {
			if sent[command] < 15 {
				t.Errorf("got %[2]d calls of %[1]s", command, sent[command])
			}
		}
	})
}

func TestDeleteLargeIgnoresMissingKeys(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		if err := DeleteLarge(t.Context(), rdb, "td:missing"); err != nil {
			t.Error(err)
		}
	})
}

func TestDeleteLargeFinishesAnInterruptedDeletion(t *testing.T) {
	broken := errors.New("cut short")
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 3000)
		var mu sync.Mutex
		left := 0 // steps until the connection fails
		rdb.AddHook(interceptor(func(cmd redis.Cmder) error {
			mu.Lock()
			defer mu.Unlock()
			switch cmd.Name() {
			case "hdel", "srem", "zremrangebyrank", "ltrim":
				if left--; left < 0 {
					return broken
				}
			}
			return nil
		}))
		for _, kind := range []string{"hash", "set", "zset", "list"} {
			key := "td:" + kind + ":{1}"
			mu.Lock()
			left = 1
			mu.Unlock()
			if err := DeleteLarge(t.Context(), rdb, key); !errors.Is(err, broken) {
				t.Fatalf("%s: %v", kind, err)
			}
			if n := rdb.Exists(t.Context(), key).Val(); n != 0 {
				t.Errorf("%s: the key still exists", kind)
			}
			rest, err := MeasureKeys(t.Context(), rdb, key+":sweep")
			if err != nil || len(rest) != 1 || rest[0].Members == 0 || rest[0].Members >= 3000 {
				t.Errorf("%s: got rest %+v, %v", kind, rest, err)
			}
			mu.Lock()
			left = 1000
			mu.Unlock()
			if err := DeleteLarge(t.Context(), rdb, key); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff([]string{"td:stream:{1}", "td:string:{1}"}, sorted(remaining(t, rdb))); d != "" {
			t.Errorf("left (-want +got)\n%s", d)
		}
	})
}

func sorted(names []string) []string {
	return slices.Sorted(slices.Values(names))
}

func TestDeleteLargeKeepsConcurrentWrites(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 2000)
		var once sync.Once
		rdb.AddHook(interceptor(func(cmd redis.Cmder) error {
			if cmd.Name() == "hdel" { // the deletion is running
				once.Do(func() {
					if err := rdb.HSet(t.Context(), "td:hash:{1}", "new", "1", "m0001", "2").Err(); err != nil {
						t.Error(err)
					}
				})
			}
			return nil
		}))
		if err := DeleteLarge(t.Context(), rdb, "td:hash:{1}"); err != nil {
			t.Fatal(err)
		}
		got, err := rdb.HGetAll(t.Context(), "td:hash:{1}").Result()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"new": "1", "m0001": "2"}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestDeleteLargeIsSafeForConcurrentUse(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 2000)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for _, kind := range []string{"hash", "set", "zset", "list"} {
					if err := DeleteLarge(t.Context(), rdb, "td:"+kind+":{1}"); err != nil {
						t.Errorf("%s: %v", kind, err)
					}
				}
			})
		}
		all.Go(func() {
			for i := range 500 {
				if err := rdb.SAdd(t.Context(), "td:set:{1}", fmt.Sprint("late", i)).Err(); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		for _, kind := range []string{"hash", "set", "zset", "list"} { // written late
			if err := DeleteLarge(t.Context(), rdb, "td:"+kind+":{1}"); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff([]string{"td:stream:{1}", "td:string:{1}"}, sorted(remaining(t, rdb))); d != "" {
			t.Errorf("left (-want +got)\n%s", d)
		}
	})
}

func TestDeleteLargeEndsWithItsContext(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 2000)
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		rdb.AddHook(interceptor(func(cmd redis.Cmder) error {
			if cmd.Name() == "zremrangebyrank" {
				if steps++; steps == 3 {
					cancel()
				}
			}
			return nil
		}))
		if err := DeleteLarge(ctx, rdb, "td:zset:{1}"); !errors.Is(err, context.Canceled) || steps != 3 {
			t.Errorf("got %v after %d steps", err, steps)
		}
	})
}

func TestDeleteLargeStaysInTheSlot(t *testing.T) {
	tests := []struct{ key, want string }{
		{"td:feed:{7}", "td:feed:{7}:sweep"},
		{"td:feed:{7}:out", "td:feed:{7}:out:sweep"},
		{"td:bus", "{td:bus}:sweep"},
	}
	for _, tt := range tests {
		if got := restOf(tt.key); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.key, got, tt.want)
		}
	}
}
