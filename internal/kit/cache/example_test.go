package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

type shop struct {
	ID   int64
	Name string
}

func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	defer func() { _ = rdb.Close() }()

	table := map[int64]shop{1: {1, "Noodles"}, 2: {2, "Dumplings"}}
	load := func(_ context.Context, ids []int64) (map[int64]shop, error) {
		fmt.Println("SELECT … WHERE id IN", ids)
		found := make(map[int64]shop)
		for _, id := range ids {
			if s, ok := table[id]; ok {
				found[id] = s
			}
		}
		return found, nil
	}

	hub, err := cache.NewHub(rdb, cache.Options{Prefix: "td"})
	if err != nil {
		panic(err)
	}
	defer hub.Wait()
	shops := cache.New(hub, cache.Policy{Name: "shop"}, func(id int64) string { return strconv.FormatInt(id, 10) }, load)

	ctx := context.Background()
	one, _ := shops.Get(ctx, 1)
	fmt.Println(one.Name)
	page, _ := shops.GetMany(ctx, []int64{1, 2, 3})
	fmt.Println(len(page), "of 3")
	_, err = shops.Get(ctx, 3)
	fmt.Println(errors.Is(err, cache.ErrNotFound))

	table[3] = shop{3, "Hot pot"} // INSERT … COMMIT, and then:
	if err := shops.Invalidate(ctx, 3); err != nil {
		panic(err)
	}
	one, _ = shops.Get(ctx, 3)
	fmt.Println(one.Name)

	// Output:
	// SELECT … WHERE id IN [1]
	// Noodles
	// SELECT … WHERE id IN [2 3]
	// 2 of 3
	// true
	// SELECT … WHERE id IN [3]
	// Hot pot
}
