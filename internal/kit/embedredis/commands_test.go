package embedredis

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

//go:embed testdata/admit.lua
var admitLua string

//go:embed testdata/swap.lua
var swapLua string

func TestScriptsAreAtomic(t *testing.T) {
	const stock, buyers = 20, 100
	s := start(t, Options{})
	rdb, admit := client(t, s), redis.NewScript(admitLua)
	keys := []string{"stock", "buyers", "orders"}
	call := func(user, order int) (string, error) {
		v, err := admit.Run(t.Context(), rdb, keys, user, order).Slice()
		return fmt.Sprint(v...), err
	}
	if got, err := call(1, 1); got != "-2" || err != nil {
		t.Fatalf("missing sale: got %s, %v", got, err)
	}
	if err := rdb.Set(t.Context(), "stock", stock, 0).Err(); err != nil {
		t.Fatal(err)
	}
	var (
		g      errgroup.Group
		mu     sync.Mutex
		counts = map[string]int{}
	)
	for user := range buyers {
		g.Go(func() error {
			got, err := call(user, 1000+user)
			mu.Lock()
			defer mu.Unlock()
			counts[got[:1]]++
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"1": stock, "0": buyers - stock}, counts); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	left := rdb.Get(t.Context(), "stock").Val()
	orders, bought := rdb.XLen(t.Context(), "orders").Val(), rdb.HLen(t.Context(), "buyers").Val()
	if diff := cmp.Diff([]any{"0", int64(stock), int64(stock)}, []any{left, orders, bought}); diff != "" {
		t.Errorf("stock, orders and buyers (-want +got):\n%s", diff)
	}
}

func TestScriptsRenameScoreAndSearch(t *testing.T) {
	rdb := client(t, start(t, Options{}))
	ctx := t.Context()
	if err := rdb.GeoAdd(ctx, "served", &redis.GeoLocation{Name: "old", Longitude: 120, Latitude: 30}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.GeoAdd(ctx, "built",
		&redis.GeoLocation{Name: "far", Longitude: 121, Latitude: 30},
		&redis.GeoLocation{Name: "second", Longitude: 120.002, Latitude: 30},
		&redis.GeoLocation{Name: "first", Longitude: 120.001, Latitude: 30},
	).Err(); err != nil {
		t.Fatal(err)
	}
	score := rdb.ZScore(ctx, "built", "first").Val()
	sha, err := rdb.ScriptLoad(ctx, swapLua).Result()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rdb.EvalSha(ctx, sha, []string{"built", "served"}, "old", "first").Slice()
	if err != nil {
		t.Fatal(err)
	}
	want := []any{nil, fmt.Sprintf("%.0f", score), []any{"first", "second"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if n := rdb.Exists(ctx, "built").Val(); n != 0 {
		t.Error("the built set still exists")
	}
	if err := rdb.EvalSha(ctx, strings.Repeat("0", 40), nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("unknown script: got %v, want NOSCRIPT", err)
	}
}

// forms lists the commands that Tandian uses. K is a key, M a member, V a value, N an integer, F a
// number, I a stream id, S any word.
var forms = strings.Split(strings.TrimSpace(`
GET K
SET K V
SET K V PX N NX
SET K V EX N GET
MGET K K K
DEL K
UNLINK K K
EXISTS K K
PEXPIRE K N
PEXPIRE K N S
PTTL K
INCR K
HSET K M V M V
HGET K M
HDEL K M M
ZADD K F M F M
ZADD K S F M
ZMSCORE K M M
ZRANGE K N N
ZRANGE K N N REV WITHSCORES
ZRANGE K F F BYSCORE LIMIT N N
ZRANGE K S S BYLEX REV LIMIT N N
GEOADD K F F M
GEOADD K S F F M
GEOSEARCH K FROMLONLAT F F BYRADIUS F m ASC COUNT N
GEOSEARCH K FROMMEMBER M BYBOX F F km WITHDIST WITHCOORD
XADD K * f V
XADD K I f V
XADD K MAXLEN ~ N * f V
XADD K MINID = I * f V
XGROUP CREATE K g I MKSTREAM
XREADGROUP GROUP g M COUNT N STREAMS K >
XREADGROUP GROUP g M STREAMS K K > I
XACK K g I I
XTRIM K MAXLEN N
XCLAIM K g M N I S S
XAUTOCLAIM K g M N I COUNT N
SETBIT K N N
BITCOUNT K N N
BITCOUNT K N N BIT
SETRANGE K N V
PFADD K M M
PFCOUNT K
PFCOUNT K K
PFMERGE K K
SADD K M
INCRBYFLOAT K F
HINCRBYFLOAT K M F
SINTERSTORE K K K
SSCAN K N
ZSCAN K N COUNT N
EVAL ZSCORE 1 K M
EVAL INCR 1 K M
`), "\n")

// slots lists the values for the letters of forms: mostly valid, some at limits.
var slots = map[string][]string{
	"K": strings.Fields("k0 k1 k2 k3 k4 k5 k6 k7 k8 k9"),
	"M": strings.Fields("a b c d"),
	"V": strings.Fields("a 1 -3 1.5 9223372036854775807 hello"),
	"N": strings.Fields("0 1 2 3 7 100 -1 -2 -7 70000 9223372036854775807 -9223372036854775808 x"),
	"F": strings.Fields("0 1 2.5 -1 30 120 1e300 inf -inf nan (1 85.06 -181"),
	"I": strings.Fields("0 0-0 1 1-1 5 $ > * - + 7-* 9223372036854775807 18446744073709551615-18446744073709551615 -1"),
	"S": strings.Fields("NX XX GT LT CH INCR [a [c - + JUSTID FORCE IDLE TIME RETRYCOUNT LASTID 5 -5 x"),
}

func TestRandomCommandsNeverPanic(t *testing.T) {
	const lifetime = 2000 // commands per server; a fresh one is full of missing keys
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	span := 3 * time.Second
	if testing.Short() {
		span = time.Second / 2
	}
	n := 0
	for end := time.Now().Add(span); time.Now().Before(end); {
		s, err := Start(Options{}) // start would close it, and wait for the lock that a panic leaves held
		if err != nil {
			t.Fatal(err)
		}
		for range lifetime {
			if n++; n%100 == 0 {
				s.db.FastForward(time.Second)
			}
			args := command(rnd)
			if p := failure(s, args); p != "" {
				t.Fatalf("seed %d, command %d, %q: %s", seed, n, args, p)
			}
		}
		if err := s.Close(); err != nil { // also frees its memory
			t.Fatal(err)
		}
	}
	t.Logf("%d commands", n)
	if n < lifetime {
		t.Errorf("got only %d commands", n)
	}
}

func command(rnd *rand.Rand) []string {
	var args []string
	for w := range strings.FieldsSeq(forms[rnd.IntN(len(forms))]) {
		if choice, ok := slots[w]; ok {
			w = choice[rnd.IntN(len(choice))]
		}
		args = append(args, w)
	}
	if rnd.IntN(10) == 0 {
		args = args[:1+rnd.IntN(len(args))]
	}
	if args[0] == "EVAL" && len(args) > 1 {
		args[1] = "return redis.pcall('" + args[1] + "', KEYS[1], ARGV[1])"
	}
	return args
}

// failure runs one command. It returns "" unless the command panics, or writes more than one reply,
// which would shift later replies of the connection.
func failure(s *Server, args []string) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	var out bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&out))
	s.proto.Dispatch(peer, args)
	peer.Flush()
	first := bufio.NewReader(&out)
	_, _ = server.ParseReply(first) // its error is the reply's
	if rest := first.Buffered(); rest > 0 {
		return fmt.Sprintf("%d bytes after the answer", rest)
	}
	return ""
}
