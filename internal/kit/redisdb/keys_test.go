package redisdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// eachRedis runs a test on the embedded Redis, on a real one and on a cluster of three masters.
func eachRedis(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	configs := map[string]func(*testing.T) RedisConfig{
		"embedded": func(t *testing.T) RedisConfig {
			return RedisConfig{URL: "redis://embedded", Dial: embedded(t).Dial}
		},
		"redis":   func(t *testing.T) RedisConfig { return RedisConfig{URL: testkit.Redis(t)} },
		"cluster": func(t *testing.T) RedisConfig { return RedisConfig{URL: testkit.RedisCluster(t)} },
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			cfg.Role, cfg.Timeout = "state", 10*time.Second // other tests may load the machine
			test(t, openRedis(t, prometheus.NewRegistry(), cfg))
		})
	}
}

// seedKeys creates a key of each type with n members.
func seedKeys(t *testing.T, rdb redis.UniversalClient, prefix string, n int) {
	t.Helper()
	_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Set(t.Context(), prefix+"string:{1}", strings.Repeat("x", n), time.Hour)
		for i := range n {
			member := fmt.Sprintf("m%04d", i)
			p.HSet(t.Context(), prefix+"hash:{1}", member, i)
			p.SAdd(t.Context(), prefix+"set:{1}", member)
			p.ZAdd(t.Context(), prefix+"zset:{1}", redis.Z{Score: float64(i), Member: member})
			p.RPush(t.Context(), prefix+"list:{1}", member)
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: prefix + "stream:{1}", ID: fmt.Sprintf("1-%d", i+1), Values: []string{"m", member}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func types() []string { return []string{"hash", "list", "set", "stream", "string", "zset"} }

func TestKeyScanMeasuresEveryKeyOnce(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 7)
		seedKeys(t, rdb, "other:", 7)
		_, err := rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for i := range 450 { // several steps
				p.Set(t.Context(), fmt.Sprintf("td:many:{%d}", i), "12345", 0)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		total, err := KeyCount(t.Context(), rdb)
		if err != nil || total != 462 {
			t.Fatalf("got %d keys, %v", total, err)
		}
		seen, names := 0, map[string]int{}
		var sums KeyPatterns
		scan := KeyScan{Prefix: "td:", Seen: func(n int) { seen = n }}
		if err := scan.Each(t.Context(), rdb, func(k Key) {
			names[k.Name]++
			sums.Add(k)
			if k.Bytes <= 0 {
				t.Errorf("%s: got %d bytes", k.Name, k.Bytes)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if len(names) != 456 || seen != 462 {
			t.Errorf("got %d measured and %d scanned keys", len(names), seen)
		}
		for name, times := range names {
			if times != 1 {
				t.Errorf("%s: got %d times, want 1", name, times)
			}
		}
		want := []KeyPattern{{Name: "td:many:{*}", Type: "string", Keys: 450, MaxMembers: 5, NoTTL: 450}}
		for _, kind := range types() {
			p := KeyPattern{Name: "td:" + kind + ":{*}", Type: kind, Keys: 1, MaxMembers: 7, NoTTL: 1, Example: "td:" + kind + ":{1}"}
			if kind == "string" {
				p.NoTTL = 0
			}
			want = append(want, p)
		}
		got := sums.All()
		for i := range got {
			if got[i].Keys == 450 {
				got[i].Example = "" // any of them
			}
		}
		byName := cmpopts.SortSlices(func(a, b KeyPattern) bool { return a.Name < b.Name })
		if d := cmp.Diff(want, got, byName, cmpopts.IgnoreFields(KeyPattern{}, "Bytes", "MaxBytes")); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestKeyScanLimitsItsRate(t *testing.T) {
	rdb := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://embedded", Role: "state", Dial: embedded(t).Dial, Timeout: 10 * time.Second})
	for i := range 300 {
		if err := rdb.Set(t.Context(), fmt.Sprint("td:", i), "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	if err := (KeyScan{Prefix: "td:", Rate: 400}).Each(t.Context(), rdb, func(Key) {}); err != nil {
		t.Fatal(err)
	}
	// The first step of a hundred is free.
	if took := time.Since(begin); took < 490*time.Millisecond {
		t.Errorf("300 keys at 400 a second took %v", took)
	}
	// A wait for the rate ends with the context.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := (KeyScan{Prefix: "td:", Rate: 1}).Each(ctx, rdb, func(Key) {}); err == nil {
		t.Error("300 keys at one a second took less than five seconds")
	}
}

func TestKeyScanFailsWithoutRedis(t *testing.T) {
	rdb := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://host", Role: "state", Dial: refuse})
	if err := (KeyScan{}).Each(t.Context(), rdb, func(Key) {}); !errors.Is(err, errRefused) {
		t.Errorf("scan: %v", err)
	}
	if _, err := MeasureKeys(t.Context(), rdb, "k"); !errors.Is(err, errRefused) {
		t.Errorf("measure: %v", err)
	}
	if _, err := KeyCount(t.Context(), rdb); !errors.Is(err, errRefused) {
		t.Errorf("count: %v", err)
	}
}

func TestPatternOf(t *testing.T) {
	tests := []struct{ name, key, want string }{
		{"an id in braces", "td:cache:shop:{42}", "td:cache:shop:{*}"},
		{"text after the braces", "td:cache:shop-type:{42}:l", "td:cache:shop-type:{*}:l"},
		{"a hash in braces", "td:session:{w3Jr-_9}", "td:session:{*}"},
		{"a number", "td:shop:geo:7:{wtmk}", "td:shop:geo:*:{*}"},
		{"a word instead of a number", "td:shop:geo:all:{wtmk}:b", "td:shop:geo:all:{*}:b"},
		{"a cell without braces", "td:cells:w7e9", "td:cells:*"},
		{"a month", "td:checkin:{7}:202611", "td:checkin:{*}:*"},
		{"a day", "td:visit:uv:2026-11-21", "td:visit:uv:*"},
		{"a hash", "td:thing:0123456789abcdef", "td:thing:*"},
		{"a hash of letters", "td:thing:abcdefghijklmnopqrstuvwxyzabcdef", "td:thing:*"},
		{"a hash of some capitals", "td:thing:aBcDeFgH", "td:thing:*"},
		{"a prefix with a digit", "td2:cache-epoch", "td2:cache-epoch"},
		{"an empty part", "td::x", "td:*:x"},
		{"a whole list as the tag", "td:cache:q:{shops:1,2}", "td:cache:q:{*}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := PatternOf(tt.key); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.key, got, tt.want)
			}
		})
	}
}

func TestKeyPatternsAreBounded(t *testing.T) {
	var p KeyPatterns
	p.Add(Key{"td:a:1", "string", 10, 3, NoTTL})
	p.Add(Key{"td:a:2", "string", 30, 2, time.Second})
	p.Add(Key{"td:a:3", "hash", 25, 1, NoTTL})
	want := []KeyPattern{
		{"td:a:*", "string", 2, 40, 30, 3, 1, "td:a:2"},
		{"td:a:*", "hash", 1, 25, 25, 1, 1, "td:a:3"},
	}
	if d := cmp.Diff(want, p.All()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for i := range 2 * maxPatterns { // irregular names: no two are alike
		p.Add(Key{"td:" + strings.Repeat("x", i%20+1) + ":" + strings.Repeat("y", i/1000+1) + ":" + letters(i), "string", 1, 1, NoTTL})
	}
	all := p.All()
	if len(all) > maxPatterns+1 || !slices.ContainsFunc(all, func(k KeyPattern) bool { return k.Name == "(others)" && k.Keys > 1000 }) {
		t.Errorf("got %d patterns", len(all))
	}
}

// letters returns a number in base 26.
func letters(n int) (s string) {
	for ; n > 0 || s == ""; n /= 26 {
		s += string(rune('a' + n%26))
	}
	return s
}

func TestPeekReadsTheFirstMembers(t *testing.T) {
	eachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		seedKeys(t, rdb, "td:", 900) // more than Redis stores in a compact encoding
		for _, kind := range types() {
			keys, err := MeasureKeys(t.Context(), rdb, "td:"+kind+":{1}", "td:missing:{1}")
			if err != nil || len(keys) != 1 {
				t.Fatalf("%v, %v", keys, err)
			}
			got, err := Peek(t.Context(), rdb, keys[0], 100)
			if err != nil {
				t.Fatal(err)
			}
			if kind == "string" {
				if d := cmp.Diff([]Member{{Value: strings.Repeat("x", 900)}}, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				continue
			}
			if len(got) != 100 {
				t.Errorf("got %d members of a %s", len(got), kind)
			}
			want := map[string]Member{
				"list": {"", "m0000"}, "zset": {"m0000", "0"}, "stream": {"1-1", "map[m:m0000]"},
			}
			if first, ok := want[kind]; ok && got[0] != first {
				t.Errorf("first member of a %s: got %v", kind, got[0])
			}
			if kind == "hash" && got[7].Name != "m"+fmt.Sprintf("%04s", got[7].Value) {
				t.Errorf("hash: got %v", got[7])
			}
		}
	})
}
