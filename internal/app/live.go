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

// What processes tell each other for the sake of those who are connected to them. That
// there are new notes goes by pub/sub, which is fast and may lose it: the log of notes
// says what was lost. Who follows others than before, and whose session ended, stands in
// no log that a process reads; so it goes by the bus, which is heard whole.

// Topics of the bus. A message is a list of ids in JSON.
const (
	followsTopic  = "follows"  // of users who follow others than before
	sessionsTopic = "sessions" // of sessions that ended
	idsEach       = 200        // in a message
)

// feedHints are what processes tell each other of new notes. With an embedded Redis there
// is one process.
func (h *Components) feedHints(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) *pubsub.Channel {
	var rdb redis.UniversalClient
	if cfg.RedisURL != "" {
		rdb = h.State
	}
	return pubsub.New(rdb, pubsub.Options{Channel: cfg.RedisPrefix + ":feed", Registerer: reg, Log: log},
		func(hint []byte) { h.Feed.ReceiveHint(hint) }, func() { h.Feed.CheckLog() })
}

// hearLive has this process hear the topics.
func (h *Components) hearLive() {
	h.bus.Subscribe(followsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var followers []int64
			if json.Unmarshal(body, &followers) != nil { // of another version
				h.Feed.MarkFollowsStale()
			}
			h.Feed.RefreshFollows(followers...)
		}
	})
	h.bus.Subscribe(sessionsTopic, func(_ context.Context, bodies [][]byte) {
		for _, body := range bodies {
			var ended []string
			if json.Unmarshal(body, &ended) == nil { // else those sessions are looked at within a minute
				h.recheck(ended...)
			}
		}
	})
	h.bus.AddObserver(followsFollower{h})
}

// followsFollower has live feeds look at whom their viewers follow when messages of that
// may be missing.
type followsFollower struct{ h *Components }

// Reset tells of a gap.
func (f followsFollower) Reset(context.Context, eventbus.Gap) { f.h.Feed.MarkFollowsStale() }

// Synced says nothing here.
func (f followsFollower) Synced(time.Time) {}

// tellFollows tells the live feeds of all processes that users follow others than before.
func (h *Components) tellFollows(ctx context.Context, followers ...int64) error {
	h.Feed.RefreshFollows(followers...)
	return tellIDs(ctx, h.bus, followsTopic, followers)
}

// tellEnded has all processes look at once whether sessions still are.
func (h *Components) tellEnded(ctx context.Context, sessions ...string) error {
	h.recheck(sessions...)
	return tellIDs(ctx, h.bus, sessionsTopic, sessions)
}

const (
	pollEvery    = 500 * time.Millisecond // between two polls
	endedOverlap = 10 * time.Second       // that two polls share: clocks differ, and commits take time
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

// recheck has the door look whether sessions still are, if there is one.
func (h *Components) recheck(sessions ...string) {
	if look := h.sessionsEnded.Load(); look != nil {
		(*look)(sessions...)
	}
}

func tellIDs[ID int64 | string](ctx context.Context, bus eventbus.Bus, topic string, ids []ID) error {
	var messages []eventbus.Message
	for some := range slices.Chunk(ids, idsEach) {
		body, err := json.Marshal(some)
		if err != nil {
			return fmt.Errorf("write down %d ids: %w", len(some), err)
		}
		messages = append(messages, eventbus.Message{Topic: topic, Body: body})
	}
	return bus.Publish(ctx, messages...)
}
