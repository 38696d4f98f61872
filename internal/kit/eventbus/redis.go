package eventbus

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the script
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Options tunes a Stream. The zero value is a good setting, except that it shows
// no metrics and logs nothing.
type Options struct {
	Prefix     string                // begins the key; default "td"
	Registerer prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log        *slog.Logger          // default slog.DiscardHandler
	MaxEntries int                   // entries that the stream keeps, and up to a hundred more; default 100 000
	Timeout    time.Duration         // longest wait for an answer of Redis; default 250 ms

	// Writable reports whether messages can be published now, by any process. While
	// it is false, the stream is not followed: silence proves nothing. The followers
	// are reset when it becomes false, and again when it becomes true. Nil is always true.
	Writable func() bool
}

// Redis is a [Bus] over one capped Redis stream, whose entries have dense
// positions and are chained by hashes (lua/publish.lua). So a process that reads
// on from its position knows by itself that it missed nothing, across
// reconnections, and that a Redis that came back empty, restored, or as a replica
// that was behind, lost messages that it had heard. What was lost before it heard
// it, nothing in the stream can show: a [Detector] finds that out, whose changed
// should call [Redis.MarkSuspect].
//
// It follows by a client of its own, because its reads block. Each look asks for
// the end of the stream too, and is answered within 100 ms and Options.Timeout, or
// its connection is given up: nothing is believed of a connection that is silent.
//
// Its methods are safe for concurrent use, after Subscribe and Follow.
type Redis struct {
	subscribers
	rdb        redis.UniversalClient
	blocking   Blocking
	key        string
	maxEntries int
	timeout    time.Duration
	writable   func() bool
	log        *slog.Logger

	metrics    metrics
	complaints clock.Throttle
	suspect    atomic.Bool
	running    atomic.Bool
}

var _ Bus = (*Redis)(nil)

const (
	block      = 100 * time.Millisecond // of one look, while nothing comes
	readAtOnce = 500                    // entries of one look: 8 MB at most
	sendAtOnce = 100                    // messages of one round trip: 1.6 MB at most
	firstPause = 20 * time.Millisecond  // after a failure
	maxWait    = 200 * time.Millisecond // after many
)

//go:embed lua/publish.lua
var publishLua string

var publishScript = redis.NewScript(publishLua)

// Blocking makes a client of the same Redis for commands that block there, whose
// longest wait is given, as Blocking of kit/sqldb does. Whoever has it closes it.
type Blocking func(rdb redis.UniversalClient, wait time.Duration) (redis.UniversalClient, error)

// NewRedis builds a Stream, which publishes by rdb and follows by clients that blocking
// makes of it. It starts nothing, sends nothing, and does not close rdb, which
// belongs to the caller. It panics if the Registerer has these metrics already.
func NewRedis(rdb redis.UniversalClient, blocking Blocking, o Options) *Redis {
	if o.Writable == nil {
		o.Writable = func() bool { return true }
	}
	return &Redis{
		rdb: rdb, blocking: blocking, writable: o.Writable,
		key:        cmp.Or(o.Prefix, "td") + ":bus",
		maxEntries: cmp.Or(o.MaxEntries, 100_000),
		timeout:    cmp.Or(o.Timeout, 250*time.Millisecond),
		log:        cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		metrics:    newMetrics(o.Registerer),
	}
}

// Subscribe is as [Bus] says.
func (s *Redis) Subscribe(topic string, hear func(ctx context.Context, bodies [][]byte)) {
	s.metrics.published.WithLabelValues(topic)
	s.subscribers.Subscribe(topic, hear)
}

// Publish returns when the messages are in the stream, for which each hundred of
// them have Options.Timeout. With an error some may be in, the last hundred that
// were sent too.
func (s *Redis) Publish(ctx context.Context, ms ...Message) error {
	if err := check(ctx, ms); err != nil {
		return err
	}
	for some := range slices.Chunk(ms, sendAtOnce) {
		if err := s.add(ctx, some); err != nil {
			s.metrics.errors.WithLabelValues("publish").Inc()
			return fmt.Errorf("publish on the bus: %w", err)
		}
		for _, m := range some {
			s.metrics.published.WithLabelValues(s.label(m.Topic)).Inc()
		}
	}
	return nil
}

func (s *Redis) add(ctx context.Context, ms []Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	args := make([]any, 0, 2+2*len(ms))
	args = append(args, s.maxEntries, rand.Text())
	for _, m := range ms {
		args = append(args, m.Topic, m.Body)
	}
	return publishScript.Run(ctx, s.rdb, []string{s.key}, args...).Err()
}

// label is what metrics call a topic: those of others would be without a bound.
func (s *Redis) label(topic string) string {
	if s.hearers[topic] == nil {
		return "other"
	}
	return topic
}

// MarkSuspect says that this Redis may have lost messages: within 100 ms the followers
// are reset with [GapSuspect], and until then they hear of no sync any more.
func (s *Redis) MarkSuspect() { s.suspect.Store(true) }

// Run follows the stream until ctx ends. It begins at the end: what was published
// before is covered by the first Reset. It returns an error at once if the client
// is of a kind that cannot be followed, or if another Run is under way.
func (s *Redis) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("follow the bus: it is followed already")
	}
	defer s.running.Store(false)
	at, pause := streamCursor{why: GapStart}, firstPause
	for ctx.Err() == nil {
		rdb, err := s.blocking(s.rdb, block+s.timeout)
		if err != nil {
			return fmt.Errorf("follow the bus: %w", err)
		}
		healthy, err := s.follow(ctx, rdb, &at)
		if ctx.Err() != nil {
			break
		}
		s.complain(ctx, "follow", err)
		if healthy {
			pause = firstPause
		}
		_ = clock.Sleep(ctx, pause)
		pause = min(2*pause, maxWait)
	}
	return nil
}

// follow looks until a look fails, and closes rdb then. It reports whether one
// succeeded before.
func (s *Redis) follow(ctx context.Context, rdb redis.UniversalClient, at *streamCursor) (healthy bool, err error) {
	defer func() { _ = rdb.Close() }()
	// go-redis notices the end of a context only when it has answered.
	defer context.AfterFunc(ctx, func() { _ = rdb.Close() })()
	for ctx.Err() == nil {
		if !s.writable() {
			s.pause(ctx, at)
			continue
		}
		if s.suspect.CompareAndSwap(true, false) {
			at.lose(GapSuspect)
		}
		if err := s.look(ctx, rdb, at); err != nil {
			return healthy, err
		}
		healthy = true
		if at.why != "" { // a stream that breaks again and again must not keep everybody forgetting
			_ = clock.Sleep(ctx, firstPause)
		}
	}
	return healthy, nil
}

// pause waits while nothing can be published. The followers are reset first, so
// that they do not trust what they hold.
func (s *Redis) pause(ctx context.Context, at *streamCursor) {
	if at.why == "" {
		at.lose(GapClosed)
		if err := s.reset(ctx, GapClosed); err != nil {
			s.complain(ctx, "hear", err)
		}
	}
	_ = clock.Sleep(ctx, firstPause)
}

// look reads what comes next, or takes a new position after a gap.
func (s *Redis) look(ctx context.Context, rdb redis.UniversalClient, at *streamCursor) error {
	sent := time.Now()
	if at.why != "" {
		return s.begin(ctx, rdb, at, sent)
	}
	tail, entries, err := s.read(ctx, rdb, at.position)
	if err != nil {
		return err
	}
	if !at.within(tail) {
		at.lose(GapLost)
		return nil
	}
	heard := at.advance(entries)
	s.metrics.heard.Add(float64(len(heard)))
	if err := s.deliver(ctx, heard); err != nil {
		s.complain(ctx, "hear", err)
		at.lose(GapPanic)
	}
	if at.why == "" && at.reached(tail) {
		s.inSync(ctx, sent)
	}
	return nil
}

// begin goes on at the end of the stream, and has the followers forget first
// what may rest on messages before it.
func (s *Redis) begin(ctx context.Context, rdb redis.UniversalClient, at *streamCursor, sent time.Time) error {
	tail, err := s.tail(ctx, rdb)
	if err != nil {
		return err
	}
	s.metrics.gaps.WithLabelValues(string(at.why)).Inc()
	s.log.InfoContext(ctx, "the bus is followed from here", "why", string(at.why), "at", tail.id())
	if err := s.reset(ctx, at.why); err != nil {
		return fmt.Errorf("reset followers: %w", err)
	}
	at.position, at.why = tail, ""
	s.inSync(ctx, sent)
	return nil
}

func (s *Redis) inSync(ctx context.Context, at time.Time) {
	if s.suspect.Load() || !s.writable() {
		return
	}
	s.metrics.sync(at)
	if err := s.synced(at); err != nil {
		s.complain(ctx, "hear", err)
	}
}

// complain counts a failure and logs it, at most every ten seconds.
func (s *Redis) complain(ctx context.Context, doing string, err error) {
	s.metrics.errors.WithLabelValues(doing).Inc()
	if s.complaints.Allow() {
		s.log.WarnContext(ctx, "the bus failed", "doing", doing, "err", err)
	}
}
