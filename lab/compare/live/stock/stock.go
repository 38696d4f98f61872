// Package stock is a live feed with gqlgen's defaults: its own transport for WebSockets with its
// own settings, a channel for each subscriber, and a hub that reads Redis pub/sub.
package stock

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/redis/go-redis/v9"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/lab/compare/live/stock/generated"
)

//go:generate go tool -modfile=../../../../go.mod gqlgen generate

// Channel is the Redis channel of items, each the JSON of a FeedNoteAdded.
const Channel = "stock:feed"

const (
	room        = 256              // events that wait for one subscriber; another one is dropped
	eachPing    = 25 * time.Second // as Tandian and centrifuge do
	cachedTexts = 100
)

// A Hub sends events to its subscribers.
type Hub struct {
	mu          sync.Mutex
	subscribers map[chan generated.FeedEvent]struct{}
}

// NewHub returns a hub without subscribers.
func NewHub() *Hub { return &Hub{subscribers: map[chan generated.FeedEvent]struct{}{}} }

// Run distributes published items until ctx ends. It calls listening once the subscription to Redis
// is active.
func (h *Hub) Run(ctx context.Context, rdb *redis.Client, listening func()) error {
	sub := rdb.Subscribe(ctx, Channel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(ctx); err != nil {
		return fmt.Errorf("subscribe to Redis: %w", err)
	}
	listening()
	for {
		message, err := sub.ReceiveMessage(ctx)
		if err != nil {
			return fmt.Errorf("listen to Redis: %w", err)
		}
		var added generated.FeedNoteAdded
		if err := json.Unmarshal([]byte(message.Payload), &added); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		h.hand(added)
	}
}

func (h *Hub) hand(e generated.FeedEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subscribers {
		select {
		case c <- e:
		default: // the check of the subscriber counts a gap
		}
	}
}

// Handler returns a GraphQL server with the feed.
func (h *Hub) Handler() http.Handler {
	s := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: resolvers{h}}))
	s.AddTransport(transport.Websocket{PingPongInterval: eachPing})
	s.SetQueryCache(lru.New[*ast.QueryDocument](cachedTexts))
	return s
}

type resolvers struct{ hub *Hub }

// Query resolves the only query.
func (r resolvers) Query() generated.QueryResolver { return r }

// Subscription resolves feedUpdates.
func (r resolvers) Subscription() generated.SubscriptionResolver { return r }

// Ok exists because a schema needs a query.
func (r resolvers) Ok(context.Context) (bool, error) { return true, nil }

// FeedUpdates begins with FeedReady: no later item is missed.
func (r resolvers) FeedUpdates(ctx context.Context, _ *string) (<-chan generated.FeedEvent, error) {
	c := make(chan generated.FeedEvent, room)
	c <- generated.FeedReady{Cursor: "0"}
	h := r.hub
	h.mu.Lock()
	h.subscribers[c] = struct{}{}
	h.mu.Unlock()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subscribers, c)
		close(c)
	})
	return c, nil
}
