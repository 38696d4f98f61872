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
	maxIDs        = 200        // of a message
)

// feedHints returns the channel that announces new notes. With an embedded Redis there is
// one process.
func (h *Components) feedHints(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) *pubsub.Channel {
	var rdb redis.UniversalClient
	if cfg.RedisURL != "" {
		rdb = h.State
	}
	return pubsub.New(rdb, pubsub.Options{Channel: cfg.RedisPrefix + ":feed", Registerer: reg, Log: log},
		func(hint []byte) { h.Feed.ReceiveHint(hint) }, func() { h.Feed.CheckLog() })
}

// subscribeLive subscribes this process to the topics.
func (h *Components) subscribeLive() {
	h.bus.Subscribe(followsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var followers []int64
			if json.Unmarshal(body, &followers) != nil { // of another release
				h.Feed.MarkFollowsStale()
			}
			h.Feed.RefreshFollows(followers...)
		}
	})
	h.bus.Subscribe(sessionsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var ended []string
			if json.Unmarshal(body, &ended) == nil { // otherwise those sessions are rechecked within a minute
				h.recheck(ended...)
			}
		}
	})
	h.bus.AddObserver(followsObserver{h})
}

// followsObserver rereads the follows of live feeds after a gap of the bus.
type followsObserver struct{ h *Components }

// Reset handles a gap.
func (f followsObserver) Reset(context.Context, eventbus.Gap) { f.h.Feed.MarkFollowsStale() }

// Synced does nothing.
func (f followsObserver) Synced(time.Time) {}

// publishFollows makes the live feeds of all processes reread the follows of users.
func (h *Components) publishFollows(ctx context.Context, followers ...int64) error {
	h.Feed.RefreshFollows(followers...)
	return publishIDs(ctx, h.bus, followsTopic, followers)
}

// publishEnded makes all processes recheck connections of ended sessions at once.
func (h *Components) publishEnded(ctx context.Context, sessions ...string) error {
	h.recheck(sessions...)
	return publishIDs(ctx, h.bus, sessionsTopic, sessions)
}

const (
	pollEvery    = 500 * time.Millisecond // between two polls
	endedOverlap = 10 * time.Second       // of two polls: clocks differ, and commits take time
)

// pollWithoutBus polls Postgres while a Redis is not used, until ctx ends. Without the
// bus, this process cannot receive that sessions ended or follows changed. Without the
// state Redis, end marks may be missing. It rechecks live connections of ended sessions,
// and the follows of live feeds.
func (h *Components) pollWithoutBus(ctx context.Context, log *slog.Logger) error {
	for wasOpen := true; ctx.Err() == nil; _ = clock.Sleep(ctx, pollEvery) {
		bus := h.gates[cacheRole].Open()
		open := bus && h.gates[stateRole].Open()
		if !bus {
			h.Feed.MarkFollowsStale() // the reset of the bus repeats it at the end
		}
		if open && wasOpen {
			continue
		}
		wasOpen = open // the first poll after opening covers the moment until the bus resumes
		ids, err := h.endedLately(ctx)
		if err != nil {
			log.WarnContext(ctx, "cannot read ended sessions", "err", err)
		}
		h.recheck(ids...)
	}
	return nil
}

func (h *Components) endedLately(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	return h.Accounts.EndedSince(ctx, time.Now().Add(-endedOverlap))
}

// recheck rechecks the connections of sessions, if there is a GraphQL server.
func (h *Components) recheck(sessions ...string) {
	if recheck := h.sessionsEnded.Load(); recheck != nil {
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
