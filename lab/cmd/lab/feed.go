package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/lab/bench"
)

// benchFeed measures publishing, fan-out and feed pages in a whole server without HTTP.
func (c *commands) benchFeed(ctx context.Context, cmd *call) error {
	o := bench.FeedOptions{
		Clients: cmd.Int("clients"), Followers: cmd.Int("followers"), Fans: cmd.Int("fans"),
		Threshold: min(cmd.Int("fans"), feed.Threshold), Rounds: cmd.Int("rounds"), Pages: cmd.Int("pages"), Open: openFeedServer,
	}
	if o.Clients < 1 || o.Rounds < 1 || o.Pages < 1 || o.Followers < 1 || o.Followers >= o.Threshold {
		return cmdline.Refuse("--clients, --rounds, --pages and --followers must be at least 1, --followers less than --fans and 100000")
	}
	return bench.Feed(ctx, o, c.stdout, c.stderr)
}

// feedServer is a server without HTTP, for bench feed.
type feedServer struct{ *saleServer }

// openFeedServer opens a server on stores and runs its background work.
func openFeedServer(ctx context.Context, databaseURL, redisURL string, threshold int) (bench.Feeds, func() error, error) {
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.LogReader, cfg.FeedPushThreshold = databaseURL, redisURL, "off", threshold
	server, err := openWithShop(ctx, &cfg)
	if err != nil {
		return nil, nil, err
	}
	return &feedServer{server}, server.begin(ctx), nil
}

// Publish publishes a note about the shop.
func (h *feedServer) Publish(ctx context.Context, user int64) (int64, error) {
	made, err := h.Notes.Publish(ctx, user, note.Draft{ShopID: h.shop, Title: "Tea", Content: "Good tea."})
	if err != nil {
		return 0, err
	}
	return made.ID, nil
}

// Page reads a page of a user's feed.
func (h *feedServer) Page(ctx context.Context, user int64, first int, after string) (notes int, next string, err error) {
	p, err := h.Feed.Page(ctx, user, first, page.Cursor(after))
	if err != nil {
		return 0, "", err
	}
	if p.Info.EndCursor != nil {
		next = string(*p.Info.EndCursor)
	}
	return len(p.Edges), next, nil
}

// Inbox returns the key of a user's inbox.
func (h *feedServer) Inbox(user int64) string {
	return fmt.Sprintf("%s:feed:in:{%d}", config.Default().RedisPrefix, user)
}

// DB returns the database.
func (h *feedServer) DB() *sql.DB { return h.Components.DB.DB }
