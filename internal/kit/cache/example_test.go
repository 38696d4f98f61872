package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

type shop struct {
	ID   int64
	Name string
}

// A value is loaded once and expires after TTL.
func Example_setWithTTL() {
	client, source, _ := newFixture()
	shops := cache.New(client, cache.Policy{Name: "shop", TTL: 10 * time.Minute}, source)
	for range 2 {
		one, _ := shops.Get(context.Background(), 1)
		fmt.Println(one.Name)
	}
	// Output:
	// SELECT … WHERE id IN [1]
	// Noodles
	// Noodles
}

// With StaleTTL, a value is stale after TTL and expires later.
func Example_setWithLogicalExpiry() {
	client, source, _ := newFixture()
	policy := cache.Policy{Name: "shop", TTL: 10 * time.Minute, StaleTTL: time.Hour, Beta: 1}
	shops := cache.New(client, policy, source)
	one, _ := shops.Get(context.Background(), 1) // missing: loaded
	fmt.Println(one.Name)
	// Output:
	// SELECT … WHERE id IN [1]
	// Noodles
}

// Absence is stored until the insert removes it.
func Example_getWithNullCaching() {
	client, source, rows := newFixture()
	shops := cache.New(client, cache.Policy{Name: "shop", NegativeTTL: time.Minute}, source)
	_, first := shops.Get(context.Background(), 3)
	_, second := shops.Get(context.Background(), 3)
	rows[3] = shop{3, "Hot pot"} // after INSERT … COMMIT
	invalid := shops.Invalidate(context.Background(), 3)
	one, _ := shops.Get(context.Background(), 3)
	fmt.Println(errors.Is(first, cache.ErrNotFound), errors.Is(second, cache.ErrNotFound), invalid, one.Name)
	// Output:
	// SELECT … WHERE id IN [3]
	// SELECT … WHERE id IN [3]
	// true true <nil> Hot pot
}

// A stale value is returned at once, while it is reloaded in the background.
func Example_getWithLogicalExpiry() {
	client, source, rows := newFixture()
	shops := cache.New(client, cache.Policy{Name: "shop", TTL: 50 * time.Millisecond, StaleTTL: time.Hour}, source)
	fmt.Println(name(shops.Get(context.Background(), 1)))
	rows[1] = shop{1, "Noodle bar"}   // a change without invalidation
	time.Sleep(60 * time.Millisecond) // until the value is stale
	fmt.Println(name(shops.Get(context.Background(), 1)), "at once")
	client.Wait() // for the background load
	fmt.Println(name(shops.Get(context.Background(), 1)))
	// Unordered output:
	// SELECT … WHERE id IN [1]
	// Noodles
	// Noodles at once
	// SELECT … WHERE id IN [1]
	// Noodle bar
}

// Many keys cost one round trip, and one SELECT for the missing ones.
func ExampleCache_GetMany() {
	client, source, _ := newFixture()
	shops := cache.New(client, cache.Policy{Name: "shop"}, source)
	_, _ = shops.Get(context.Background(), 1)
	page, err := shops.GetMany(context.Background(), []int64{1, 2, 3})
	fmt.Println(len(page), "of 3", err)
	// Output:
	// SELECT … WHERE id IN [1]
	// SELECT … WHERE id IN [2 3]
	// 2 of 3 <nil>
}

// A list of ids is stored until any row of its table changes.
func ExampleQueryCache() {
	client, _, _ := newFixture()
	table := client.Table("shops")
	byType := cache.NewQueryCache(table, cache.Policy{Name: "shops-by-type"}, strconv.Itoa, shopsOfType)
	first, _ := byType.Get(context.Background(), 5)
	second, _ := byType.Get(context.Background(), 5)
	err := table.Invalidate(context.Background()) // after the commit of any write to the table
	third, _ := byType.Get(context.Background(), 5)
	fmt.Println(first, second, third, err)
	// Output:
	// SELECT id … WHERE type = 5
	// SELECT id … WHERE type = 5
	// [2 1] [2 1] [2 1] <nil>
}

func shopsOfType(_ context.Context, kind int) ([]int64, error) {
	fmt.Println("SELECT id … WHERE type =", kind)
	return []int64{2, 1}, nil
}

// newFixture returns a client on its own Redis, and a table of shops.
func newFixture() (*cache.Client, cache.Source[int64, shop], map[int64]shop) {
	rows := map[int64]shop{1: {1, "Noodles"}, 2: {2, "Dumplings"}}
	load := func(_ context.Context, ids []int64) (map[int64]shop, error) {
		fmt.Println("SELECT … WHERE id IN", ids)
		found := make(map[int64]shop)
		for _, id := range ids {
			if s, ok := rows[id]; ok {
				found[id] = s
			}
		}
		return found, nil
	}
	return exampleRedis(), cache.Source[int64, shop]{Key: decimal, Load: load}, rows
}

func exampleRedis() *cache.Client {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	cleanups = append(cleanups, func() { _ = rdb.Close(); server.Close() })
	h, err := cache.NewClient(rdb, cache.Options{Prefix: "td", RedisTimeout: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	return h
}

// cleanups close the resources of examples, which have no testing.T.
var cleanups []func()

// closeExamples runs the tests and then the cleanups.
type closeExamples struct{ *testing.M }

func (m closeExamples) Run() int {
	code := m.M.Run()
	for _, closeIt := range cleanups {
		closeIt()
	}
	return code
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func name(s shop, err error) string {
	if err != nil {
		return err.Error()
	}
	return s.Name
}
