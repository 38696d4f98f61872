package embedredis

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestHyperLogLogMatchesRedis(t *testing.T) {
	o, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	genuine := redis.NewClient(o)
	defer genuine.Close()
	rdb, ctx := client(t, start(t, Options{})), t.Context()
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	keys := []string{"a", "b", "c"}
	for range 300 {
		var args []any
		switch key := keys[random.IntN(3)]; random.IntN(5) {
		case 0:
			args = []any{"PFMERGE", key, keys[random.IntN(3)], keys[random.IntN(3)]}
		case 1:
			args = []any{"PFCOUNT", key}
		default:
			args = []any{"PFADD", key}
			for range random.IntN(200) {
				args = append(args, strconv.Itoa(random.IntN(20_000)))
			}
		}
		want, err := genuine.Do(ctx, args...).Result()
		if err != nil {
			t.Fatal(err)
		}
		got, err := rdb.Do(ctx, args...).Result()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("%.60v: %v (-Redis +embedded)\n%s", args, err, d)
		}
	}
	for _, key := range keys {
		// Each server counts the bytes of the other.
		if err := genuine.Set(ctx, key+":embedded", rdb.Get(ctx, key).Val(), 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.Set(ctx, key+":real", genuine.Get(ctx, key).Val(), 0).Err(); err != nil {
			t.Fatal(err)
		}
		want := genuine.PFCount(ctx, key).Val()
		onRedis, embedded := genuine.PFCount(ctx, key+":embedded").Val(), rdb.PFCount(ctx, key+":real").Val()
		if want == 0 || onRedis != want || embedded != want {
			t.Errorf("%s: want %d, got %d in Redis, %d embedded", key, want, onRedis, embedded)
		}
	}
}

func TestHyperLogLogKeepsItsTTL(t *testing.T) {
	rdb, ctx := client(t, start(t, Options{})), t.Context()
	if err := rdb.PFAdd(ctx, "k", "ann", "bob").Err(); err != nil {
		t.Fatal(err)
	}
	rdb.Expire(ctx, "k", time.Hour)
	for _, command := range []string{"PFADD k cid", "PFMERGE k other"} {
		if err := rdb.Do(ctx, words(command)...).Err(); err != nil {
			t.Fatal(err)
		}
		if ttl := rdb.TTL(ctx, "k").Val(); ttl != time.Hour {
			t.Errorf("after %s: got TTL %v", command, ttl)
		}
	}
	if kind := rdb.Type(ctx, "k").Val(); kind != "string" || rdb.PFCount(ctx, "k").Val() != 3 {
		t.Errorf("got type %s with count %d", kind, rdb.PFCount(ctx, "k").Val())
	}
}

func TestInvalidHyperLogLogsAreRejected(t *testing.T) {
	rdb, ctx := client(t, start(t, Options{})), t.Context()
	rdb.Set(ctx, "text", "hello", 0)
	rdb.Set(ctx, "empty", "", 0)
	rdb.SAdd(ctx, "set", "a")
	for command, want := range map[string]string{
		"PFADD":             "ERR wrong number of arguments for 'pfadd' command",
		"PFADD text a":      errInvalidSketch.Error(),
		"PFCOUNT empty":     errInvalidSketch.Error(),
		"PFMERGE new text":  errInvalidSketch.Error(),
		"PFADD set a":       errWrongType.Error(),
		"PFCOUNT set":       errWrongType.Error(),
		"PFMERGE new a set": errWrongType.Error(),
	} {
		if err := rdb.Do(ctx, words(command)...).Err(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", command, err, want)
		}
	}
	if n := rdb.Exists(ctx, "new").Val(); n != 0 {
		t.Error("a failed merge left a key")
	}
}

func TestHyperLogLogCountsConcurrentAdds(t *testing.T) {
	const clients, each = 8, 100
	s := start(t, Options{})
	var g errgroup.Group
	for i := range clients {
		rdb := client(t, s)
		g.Go(func() error {
			for n := range each {
				if err := rdb.PFAdd(t.Context(), "k", fmt.Sprint(i, " ", n)).Err(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	alone, rdb := client(t, start(t, Options{})), client(t, s)
	for i := range clients {
		for n := range each {
			alone.PFAdd(t.Context(), "k", fmt.Sprint(i, " ", n))
		}
	}
	if d := cmp.Diff(alone.Get(t.Context(), "k").Val(), rdb.Get(t.Context(), "k").Val()); d != "" {
		t.Errorf("(-sequential +concurrent)\n%s", d)
	}
}

func TestHyperLogLogIsRejectedInScriptsAndTransactions(t *testing.T) {
	rdb, ctx := client(t, start(t, Options{})), t.Context()
	for _, command := range []string{"PFADD", "PFCOUNT", "PFMERGE"} {
		want := "ERR " + command + " in a script or a transaction is not served by the embedded Redis"
		got, err := rdb.Eval(ctx, "return redis.pcall(ARGV[1], KEYS[1])['err']", []string{"k"}, command).Text()
		if got != want || err != nil {
			t.Errorf("%s in a script: got %q, %v", command, got, err)
		}
		if _, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "half", "done", 0)
			p.Do(ctx, command, "k")
			return nil
		}); err == nil {
			t.Errorf("%s in a transaction: got no error", command)
		}
	}
	if n := rdb.Exists(ctx, "half", "k").Val(); n != 0 {
		t.Errorf("got %d keys, want none", n)
	}
	// A connection that had a transaction before can use it again.
	conn := rdb.Conn()
	defer conn.Close()
	if _, err := conn.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "x", 1, 0).Err() }); err != nil {
		t.Fatal(err)
	}
	if err := conn.PFAdd(ctx, "k", "ann").Err(); err != nil {
		t.Errorf("after a transaction: got %v", err)
	}
}
