package cache_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

func ExampleWindow() {
	hub, stop := exampleHub()
	defer stop()
	ctx, user := context.Background(), int64(7)
	rows := []cache.Entry{{Member: "0003", Score: 300}, {Member: "0002", Score: 200}, {Member: "0001", Score: 100}}
	orders := cache.NewWindow(hub, cache.WindowPolicy{Name: "order:list", Size: 3}, key,
		func(_ context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
			fmt.Println("SELECT … ORDER BY created DESC, number DESC LIMIT", limit)
			return map[int64][]cache.Entry{users[0]: rows[:limit]}, nil
		})
	page, complete, _ := orders.Page(ctx, user, nil, 2)
	fmt.Println(page, complete)
	_ = orders.Add(ctx, user, cache.Entry{Member: "0004", Score: 400}) // after its INSERT was committed
	page, complete, _ = orders.Page(ctx, user, nil, 5)                 // 0001 is in the table only
	fmt.Println(page, complete)

	// Output:
	// SELECT … ORDER BY created DESC, number DESC LIMIT 3
	// [{0003 300} {0002 200}] true
	// [{0004 400} {0003 300} {0002 200}] false
}

func key(id int64) string { return strconv.FormatInt(id, 10) }

// exampleHub is a hub on a Redis of its own, and what ends both.
func exampleHub() (hub *cache.Hub, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	hub, err = cache.NewHub(rdb, cache.Options{})
	if err != nil {
		panic(err)
	}
	return hub, func() {
		hub.Wait()
		_ = rdb.Close()
		server.Close()
	}
}
