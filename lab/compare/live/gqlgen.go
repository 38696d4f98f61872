package live

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/compare/clients"
	"github.com/tandian-dev/tandian/lab/compare/live/stock"
)

const gqlgenName = "gqlgen"

func gqlgenServer(ctx context.Context, redisURL string) (http.Handler, error) {
	rdb, err := openRedis(redisURL)
	if err != nil {
		return nil, err
	}
	hub := stock.NewHub()
	listening, ended := make(chan struct{}), make(chan error, 1)
	go func() { // until the process ends
		err := hub.Run(ctx, rdb, func() { close(listening) })
		fmt.Fprintln(os.Stderr, "live:", err)
		ended <- err
	}()
	select {
	case <-listening:
		return hub.Handler(), nil
	case err := <-ended:
		return nil, err
	}
}

func gqlgenAuthor(_ context.Context, redisURL string) (func(context.Context, []byte) error, error) {
	rdb, err := openRedis(redisURL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, data []byte) error { return rdb.Publish(ctx, stock.Channel, data).Err() }, nil
}

func openRedis(url string) (*redis.Client, error) {
	o, err := clients.Redis(url, patience)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}
