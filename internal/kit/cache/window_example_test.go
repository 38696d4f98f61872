package cache_test

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

func ExampleWindow() {
	client, stop := exampleClient()
	defer stop()
	ctx, user := context.Background(), int64(7)
	rows := []cache.Entry{{Member: "0003", Score: 300}, {Member: "0002", Score: 200}, {Member: "0001", Score: 100}}
	orders := cache.NewWindow(client, cache.WindowPolicy{Name: "order:list", Size: 3}, key,
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

func ExampleFirstPages() {
	client, stop := exampleClient()
	defer stop()
	ctx := context.Background()
	notes := map[int64][]cache.ListItem{7: {{Pos: 30, ID: 3}, {Pos: 20, ID: 2}, {Pos: 10, ID: 1}}} // of shops, newest first
	parse := func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
	newest := cache.NewFirstPages(client, cache.Policy{Name: "note-list"}, 2, cache.FirstPagesSource[int64]{
		Key: key, Parse: parse,
		Load: func(_ context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
			found := make(map[int64][]cache.ListItem)
			for _, a := range ranges {
				fmt.Println("SELECT … WHERE shop_id =", a.Owner, "ORDER BY … LIMIT", a.Limit)
				for _, s := range notes[a.Owner] {
					if s.Pos < a.Before && len(found[a.Owner]) < a.Limit {
						found[a.Owner] = append(found[a.Owner], s)
					}
				}
			}
			return found, nil
		},
	})
	for range 2 {
		pages, _ := newest.Pages(ctx, []int64{7, 8}, math.MaxInt64, 1)
		fmt.Println(pages[7], pages[8])
	}
	pages, _ := newest.Pages(ctx, []int64{7, 8}, 30, 2) // 10 is in the table only
	fmt.Println(pages[7], pages[8])

	// Output:
	// SELECT … WHERE shop_id = 7 ORDER BY … LIMIT 2
	// SELECT … WHERE shop_id = 8 ORDER BY … LIMIT 2
	// {[{30 3}] true} {[] false}
	// {[{30 3}] true} {[] false}
	// SELECT … WHERE shop_id = 7 ORDER BY … LIMIT 3
	// {[{20 2} {10 1}] false} {[] false}
}

func key(id int64) string { return strconv.FormatInt(id, 10) }

// exampleClient returns a client on its own Redis, and a function that closes both.
func exampleClient() (client *cache.Client, stop func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	client, err = cache.NewClient(rdb, cache.Options{})
	if err != nil {
		panic(err)
	}
	return client, func() {
		client.Wait()
		_ = rdb.Close()
		server.Close()
	}
}
