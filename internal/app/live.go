package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/pubsub"
)

// Messages between processes for their connected clients. New notes are announced by
// pub/sub, which is fast and may lose messages: the feed log contains the missed notes.
// Changed follows and ended sessions are in no such log, so they use the bus, which
// reports gaps.

// Topics of the bus. A message is a list of ids in JSON.
const (
	followsTopic  = "follows"  // ids of users whose follows changed
	sessionsTopic = "sessions" // ended sessions
	maxIDs        = 200        // per message
)

// feedHints returns the channel that announces new notes. With an embedded Redis, it stays
// within the process.
func (c *Components) feedHints(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) *pubsub.Channel {
	var rdb redis.UniversalClient
	if cfg.RedisURL != "" {
		rdb = c.State
	}
	return pubsub.New(rdb, pubsub.Options{Channel: cfg.RedisPrefix + ":feed", Registerer: reg, Log: log},
		func(hint []byte) { c.Feed.ReceiveHint(hint) }, func() { c.Feed.CheckLog() })
}

// subscribeLive subscribes this process to the topics.
func (c *Components) subscribeLive() {
	c.bus.Subscribe(followsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var followers []int64
			if json.Unmarshal(body, &followers) != nil { // from another release
				c.Feed.MarkFollowsStale()
			}
			c.Feed.RefreshFollows(followers...)
		}
	})
	c.bus.Subscribe(sessionsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var ended []string
			if json.Unmarshal(body, &ended) == nil { // otherwise the GraphQL server rechecks them within a minute
				c.recheck(ended...)
			}
		}
	})
	c.bus.AddObserver(followsObserver{c})
}

// followsObserver rereads the follows of live feeds after a gap of the bus.
type followsObserver struct{ c *Components }

// Reset handles a gap.
func (f followsObserver) Reset(context.Context, eventbus.Gap) { f.c.Feed.MarkFollowsStale() }

// Synced does nothing.
func (f followsObserver) Synced(time.Time) {}

// publishFollows makes the live feeds of all processes reread the follows of users.
func (c *Components) publishFollows(ctx context.Context, followers ...int64) error {
	c.Feed.RefreshFollows(followers...)
	return publishIDs(ctx, c.bus, followsTopic, followers)
}

// publishEnded makes all processes recheck connections of ended sessions at once.
func (c *Components) publishEnded(ctx context.Context, sessions ...string) error {
	c.recheck(sessions...)
	return publishIDs(ctx, c.bus, sessionsTopic, sessions)
}

const (
	pollEvery    = 500 * time.Millisecond
	endedOverlap = 10 * time.Second // of two polls: clocks differ, and commits take time
)

// pollWithoutBus polls Postgres while a write gate is closed, until ctx ends. Without the
// bus, this process misses ended sessions and changed follows. Without the state Redis, end
// marks may be missing. So it rechecks the live connections of ended sessions and, without
// the bus, the follows of live feeds.
func (c *Components) pollWithoutBus(ctx context.Context, log *slog.Logger) error {
	for wasOpen := true; ctx.Err() == nil; _ = clock.Sleep(ctx, pollEvery) {
		bus := c.gates[cacheRole].Open()
		open := bus && c.gates[stateRole].Open()
		if !bus {
			c.Feed.MarkFollowsStale() // the reset of the bus does so at the end
		}
		if open && wasOpen {
			continue
		}
		wasOpen = open // the first poll after the gates open covers the time until the bus resumes
		ids, err := c.recentlyEnded(ctx)
		if err != nil {
			log.WarnContext(ctx, "cannot read ended sessions", "err", err)
		}
		c.recheck(ids...)
	}
	return nil
}

func (c *Components) recentlyEnded(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	return c.Accounts.EndedSince(ctx, time.Now().Add(-endedOverlap))
}

// recheck rechecks the connections of sessions, if there is a GraphQL server.
func (c *Components) recheck(sessions ...string) {
	if recheck := c.sessionsEnded.Load(); recheck != nil {
		(*recheck)(sessions...)
	}
}

func publishIDs[ID int64 | string](ctx context.Context, bus eventbus.Bus, topic string, ids []ID) error {
	var messages []eventbus.Message
	for chunk := range slices.Chunk(ids, maxIDs) {
		body, err := json.Marshal(chunk)
		if err != nil {
			return fmt.Errorf("encode %d ids: %w", len(chunk), err)
		}
		messages = append(messages, eventbus.Message{Topic: topic, Body: body})
	}
	return bus.Publish(ctx, messages...)
}
