package live

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/centrifugal/centrifuge"
)

const (
	centrifugeName = "centrifuge"
	recoveryName   = "centrifuge, recovery"
)

const (
	centrifugeChannel = "feed"
	historySize       = 10_000 // as many as Tandian keeps in memory
	historyLife       = 10 * time.Minute
	smallRead         = 512 // bytes of the read buffer of a connection
)

// centrifugeNode is an instance with the Redis engine.
func centrifugeNode(redisURL string) (*centrifuge.Node, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	shard, err := centrifuge.NewRedisShard(node, centrifuge.RedisShardConfig{Address: redisURL, ConnectTimeout: patience, IOTimeout: patience})
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	broker, err := centrifuge.NewRedisBroker(node, centrifuge.RedisBrokerConfig{Shards: []*centrifuge.RedisShard{shard}})
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	node.SetBroker(broker)
	return node, nil
}

// centrifugeServer subscribes all clients to one channel, in the JSON protocol, with the small
// buffers that its documentation recommends for many connections.
func centrifugeServer(recovery bool) func(context.Context, string) (http.Handler, error) {
	return func(_ context.Context, redisURL string) (http.Handler, error) {
		node, err := centrifugeNode(redisURL)
		if err != nil {
			return nil, err
		}
		node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
			return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{}}, nil
		})
		node.OnConnect(func(client *centrifuge.Client) {
			client.OnSubscribe(func(_ centrifuge.SubscribeEvent, done centrifuge.SubscribeCallback) {
				done(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{EnablePositioning: recovery, EnableRecovery: recovery}}, nil)
			})
		})
		if err := node.Run(); err != nil {
			return nil, err
		}
		mux := http.NewServeMux()
		mux.Handle("/connection/websocket", centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
			ReadBufferSize: smallRead, UseWriteBufferPool: true,
		}))
		return mux, nil
	}
}

// centrifugeAuthor publishes from an instance without connections.
func centrifugeAuthor(recovery bool) func(context.Context, string) (func(context.Context, []byte) error, error) {
	return func(_ context.Context, redisURL string) (func(context.Context, []byte) error, error) {
		node, err := centrifugeNode(redisURL)
		if err != nil {
			return nil, err
		}
		if err := node.Run(); err != nil {
			return nil, err
		}
		var options []centrifuge.PublishOption
		if recovery {
			options = append(options, centrifuge.WithHistory(historySize, historyLife))
		}
		return func(_ context.Context, data []byte) error {
			_, err := node.Publish(centrifugeChannel, data, options...)
			return err
		}, nil
	}
}
