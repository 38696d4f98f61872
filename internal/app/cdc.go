package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/cdc"
	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// readLog publishes changes by other programs, such as psql, from the log of Postgres until
// ctx ends. If the log is unavailable, it logs that once and returns.
func (c *Components) readLog(ctx context.Context, url string, reg prometheus.Registerer, log *slog.Logger) error {
	if !c.canReadLog(ctx, log) {
		return nil
	}
	r, err := cdc.New(c.DB.DB, cdc.Options{
		URL: url, Locks: c.exclusive, Registerer: reg, Log: log,
		Tables: []cdc.Table{
			c.cached("users", c.Accounts.Invalidate),
			c.cached("shops", c.Shops.Invalidate),
			c.cached("shop_types", c.Shops.InvalidateTypes),
			c.cached("notes", c.Notes.Invalidate),
			c.cached("note_counts", c.Notes.InvalidateLikes),
			c.cached("comments", c.Comments.Invalidate),
			{Name: "sessions", OnChange: func(ctx context.Context, ids []string) error { return c.Accounts.InvalidateSessions(ctx, ids...) }},
		},
		Outbox: "outbox_jobs", // finds jobs of other programs by its own poll
		OnGap:  func(ctx context.Context) error { return c.invalidateAll(ctx, true, true) },
	})
	if err != nil {
		return fmt.Errorf("open the log reader: %w", err)
	}
	return r.Run(ctx)
}

// canReadLog reports whether the database log can be read. It retries until the database
// answers.
func (c *Components) canReadLog(ctx context.Context, log *slog.Logger) bool {
	for ctx.Err() == nil {
		reason, ok, err := cdc.Check(ctx, c.DB.DB)
		if err != nil {
			log.WarnContext(ctx, "cannot check the database log", "err", err)
			_ = clock.Sleep(ctx, time.Second)
			continue
		}
		if !ok {
			log.InfoContext(ctx, "change data capture is disabled", "reason", reason, "hint", "changes by other programs are visible when cached values expire")
		}
		return ok
	}
	return false
}

// cached returns a table whose rows are cached by id, with the service that invalidates
// them. It records the time of each change, because no outbox job repeats it.
func (c *Components) cached(table string, invalidate func(context.Context, ...int64) error) cdc.Table {
	return cdc.Table{Name: table, OnChange: func(ctx context.Context, keys []string) error {
		ids := make([]int64, len(keys))
		var wrong error
		for i, key := range keys {
			n, err := strconv.ParseInt(key, 10, 64)
			ids[i], wrong = n, errors.Join(wrong, err)
		}
		if wrong != nil {
			return fmt.Errorf("read the keys of changed rows: %w", wrong)
		}
		c.lastForeign.Store(time.Now().UnixNano())
		return invalidate(ctx, ids...)
	}}
}
