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

// A value is loaded once and gone after Fresh.
func Example_setWithTTL() {
	hub, source, _ := town()
	shops := cache.New(hub, cache.Policy{Name: "shop", TTL: 10 * time.Minute}, source)
	for range 2 {
		one, _ := shops.Get(context.Background(), 1)
		fmt.Println(one.Name)
	}
	// Output:
	// SELECT … WHERE id IN [1]
	// Noodles
	// Noodles
}

// With Grace, a value is not gone after Fresh but due, for Grace more.
func Example_setWithLogicalExpiry() {
	hub, source, _ := town()
	policy := cache.Policy{Name: "shop", TTL: 10 * time.Minute, StaleTTL: time.Hour, Beta: 1}
	shops := cache.New(hub, policy, source)
	one, _ := shops.Get(context.Background(), 1) // missing: loaded, not "none"
	fmt.Println(one.Name)
	// Output:
	// SELECT … WHERE id IN [1]
	// Noodles
}

// Absence is remembered, until the insert ends it.
func Example_getWithNullCaching() {
	hub, source, rows := town()
	shops := cache.New(hub, cache.Policy{Name: "shop", NegativeTTL: time.Minute}, source)
	_, first := shops.Get(context.Background(), 3)
	_, second := shops.Get(context.Background(), 3)
	rows[3] = shop{3, "Hot pot"} // INSERT … COMMIT, and then:
	invalid := shops.Invalidate(context.Background(), 3)
	one, _ := shops.Get(context.Background(), 3)
	fmt.Println(errors.Is(first, cache.ErrNotFound), errors.Is(second, cache.ErrNotFound), invalid, one.Name)
	// Output:
	// SELECT … WHERE id IN [3]
	// SELECT … WHERE id IN [3]
	// true true <nil> Hot pot
}

// What is due is served at once, while it is loaded anew behind the reader.
func Example_getWithLogicalExpiry() {
	hub, source, rows := town()
	shops := cache.New(hub, cache.Policy{Name: "shop", TTL: 50 * time.Millisecond, StaleTTL: time.Hour}, source)
	fmt.Println(name(shops.Get(context.Background(), 1)))
	rows[1] = shop{1, "Noodle bar"}   // a change that nobody told the cache of
	time.Sleep(60 * time.Millisecond) // until the value is due
	fmt.Println(name(shops.Get(context.Background(), 1)), "at once")
	hub.Wait() // for the load behind the reader
	fmt.Println(name(shops.Get(context.Background(), 1)))
	// Unordered output:
	// SELECT … WHERE id IN [1]
	// Noodles
	// Noodles at once
	// SELECT … WHERE id IN [1]
	// Noodle bar
}

// Many keys cost one round trip, and one SELECT for those that are missing.
func ExampleCache_GetMany() {
	hub, source, _ := town()
	shops := cache.New(hub, cache.Policy{Name: "shop"}, source)
	_, _ = shops.Get(context.Background(), 1)
	page, err := shops.GetMany(context.Background(), []int64{1, 2, 3})
	fmt.Println(len(page), "of 3", err)
	// Output:
	// SELECT … WHERE id IN [1]
	// SELECT … WHERE id IN [2 3]
	// 2 of 3 <nil>
}

// A list of ids is kept until any row of its table changes.
func ExampleQueryCache() {
	hub, _, _ := town()
	table := hub.Table("shops")
	byType := cache.NewQueryCache(table, cache.Policy{Name: "shops-by-type"}, strconv.Itoa, shopsOfType)
	first, _ := byType.Get(context.Background(), 5)
	again, _ := byType.Get(context.Background(), 5)
	err := table.Invalidate(context.Background()) // after the commit of any write to the table
	anew, _ := byType.Get(context.Background(), 5)
	fmt.Println(first, again, anew, err)
	// Output:
	// SELECT id … WHERE type = 5
	// SELECT id … WHERE type = 5
	// [2 1] [2 1] [2 1] <nil>
}

func shopsOfType(_ context.Context, kind int) ([]int64, error) {
	fmt.Println("SELECT id … WHERE type =", kind)
	return []int64{2, 1}, nil
}

// town is a hub on a Redis of its own, and a table of shops.
func town() (*cache.Client, cache.Source[int64, shop], map[int64]shop) {
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
	return hub(), cache.Source[int64, shop]{Key: decimal, Load: load}, rows
}

func hub() *cache.Client {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	towns = append(towns, func() { _ = rdb.Close(); server.Close() })
	h, err := cache.NewClient(rdb, cache.Options{Prefix: "td", RedisTimeout: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	return h
}

// towns are what examples opened: they have no end of their own.
var towns []func()

// withoutExamples runs the tests and closes what examples left open.
type withoutExamples struct{ *testing.M }

func (m withoutExamples) Run() int {
	code := m.M.Run()
	for _, closeIt := range towns {
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
