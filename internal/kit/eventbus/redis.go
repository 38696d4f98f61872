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

// Options tunes a Redis. The zero value is a good setting, but has no metrics and no log.
type Options struct {
	Prefix     string                // of the key; default "td"
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
	MaxEntries int                   // length of the stream, plus up to a hundred; default 100 000
	Timeout    time.Duration         // for an answer of Redis; default 250 ms

	// Writable reports whether any process can publish now. While it is false, the
	// process does not follow the stream: silence proves nothing. Observers are reset
	// when it becomes false, and again when it becomes true. Nil means always true.
	Writable func() bool
}

// Redis is a [Bus] over one capped Redis stream, whose entries have dense positions and are
// chained by hashes (lua/publish.lua). So a process that continues at its position detects
// missing messages itself, also across reconnections. It also detects that Redis lost messages
// that it had received: Redis is empty, was restored, or is a replica that was behind. The
// stream cannot reveal messages that were lost before the process received them. The Detector of
// package failover finds such losses; its changed callback should call [Redis.MarkSuspect].
//
// Reads block, so they use a client of their own. Each read also requests the tail of the
// stream. A read without an answer within 100 ms plus Options.Timeout closes its connection.
//
// Its methods are safe for concurrent use after Subscribe and AddObserver.
type Redis struct {
	subscribers
	rdb        redis.UniversalClient
	blocking   Blocking
	key        string
	maxEntries int
	timeout    time.Duration
	writable   func() bool
	log        *slog.Logger

	metrics  metrics
	warnings clock.Throttle
	suspect  atomic.Bool
	running  atomic.Bool
}

var _ Bus = (*Redis)(nil)

const (
	block      = 100 * time.Millisecond // of one read without entries
	readBatch  = 500                    // entries of one read: 8 MB at most
	sendBatch  = 100                    // messages of one round trip: 1.6 MB at most
	firstPause = 20 * time.Millisecond  // after a failure
	maxWait    = 200 * time.Millisecond // after many failures
)

//go:embed lua/publish.lua
var publishLua string

var publishScript = redis.NewScript(publishLua)

// Blocking returns a client of the same Redis for commands that block for up to wait,
// like Blocking of package redisdb. The caller closes it.
type Blocking func(rdb redis.UniversalClient, wait time.Duration) (redis.UniversalClient, error)

// NewRedis returns a Redis that publishes through rdb and reads through clients from blocking.
// It starts nothing, sends nothing, and does not close rdb, which belongs to the caller. It
// panics if the Registerer has these metrics already.
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

// Subscribe implements [Bus].
func (s *Redis) Subscribe(topic string, handle func(ctx context.Context, bodies [][]byte)) {
	s.metrics.published.WithLabelValues(topic)
	s.subscribers.Subscribe(topic, handle)
}

// Publish returns when the messages are in the stream. Each hundred of them has
// Options.Timeout. After an error some may be in the stream, also of the failed hundred.
func (s *Redis) Publish(ctx context.Context, ms ...Message) error {
	if err := validate(ctx, ms); err != nil {
		return err
	}
	for chunk := range slices.Chunk(ms, sendBatch) {
		if err := s.send(ctx, chunk); err != nil {
			s.metrics.errors.WithLabelValues("publish").Inc()
			return fmt.Errorf("publish on the bus: %w", err)
		}
		for _, m := range chunk {
			s.metrics.published.WithLabelValues(s.label(m.Topic)).Inc()
		}
	}
	return nil
}

func (s *Redis) send(ctx context.Context, ms []Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	args := make([]any, 0, 2+2*len(ms))
	args = append(args, s.maxEntries, rand.Text())
	for _, m := range ms {
		args = append(args, m.Topic, m.Body)
	}
	return publishScript.Run(ctx, s.rdb, []string{s.key}, args...).Err()
}

// label returns "other" for topics without a handler here: their number has no bound.
func (s *Redis) label(topic string) string {
	if s.handlers[topic] == nil {
		return "other"
	}
	return topic
}

// MarkSuspect reports that this Redis may have lost messages. The next read, within 100 ms if
// Redis answers, resets the observers with [GapSuspect]. Until then Synced is not called.
func (s *Redis) MarkSuspect() { s.suspect.Store(true) }

// Run follows the stream from its current end until ctx ends: the first Reset covers earlier
// messages. It fails at once if the client is of an unsupported type, or another Run is active.
func (s *Redis) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("follow bus: already running")
	}
	defer s.running.Store(false)
	at, pause := streamCursor{gap: GapStart}, firstPause
	for ctx.Err() == nil {
		rdb, err := s.blocking(s.rdb, block+s.timeout)
		if err != nil {
			return fmt.Errorf("follow bus: %w", err)
		}
		healthy, err := s.follow(ctx, rdb, &at)
		if ctx.Err() != nil {
			break
		}
		s.recordFailure(ctx, "follow", err)
		if healthy {
			pause = firstPause
		}
		_ = clock.Sleep(ctx, pause)
		pause = min(2*pause, maxWait)
	}
	return nil
}

// follow reads until a read fails, and then closes rdb. It reports whether a read succeeded.
func (s *Redis) follow(ctx context.Context, rdb redis.UniversalClient, at *streamCursor) (healthy bool, err error) {
	defer func() { _ = rdb.Close() }()
	// go-redis notices the end of a context only after an answer.
	defer context.AfterFunc(ctx, func() { _ = rdb.Close() })()
	for ctx.Err() == nil {
		if !s.writable() {
			s.pause(ctx, at)
			continue
		}
		if s.suspect.CompareAndSwap(true, false) {
			at.lose(GapSuspect)
		}
		if err := s.readNext(ctx, rdb, at); err != nil {
			return healthy, err
		}
		healthy = true
		if at.gap != "" { // limits resets if the stream breaks repeatedly
			_ = clock.Sleep(ctx, firstPause)
		}
	}
	return healthy, nil
}

// pause waits a moment while messages cannot be published. First it resets the observers, once:
// they must not trust their data.
func (s *Redis) pause(ctx context.Context, at *streamCursor) {
	if at.gap == "" {
		at.lose(GapClosed)
		if err := s.reset(ctx, GapClosed); err != nil {
			s.recordFailure(ctx, "hear", err)
		}
	}
	_ = clock.Sleep(ctx, firstPause)
}

// readNext reads the next entries, or takes a new position after a gap.
func (s *Redis) readNext(ctx context.Context, rdb redis.UniversalClient, at *streamCursor) error {
	sent := time.Now()
	if at.gap != "" {
		return s.restart(ctx, rdb, at, sent)
	}
	tail, entries, err := s.read(ctx, rdb, at.position)
	if err != nil {
		return err
	}
	if !at.within(tail) {
		at.lose(GapLost)
		return nil
	}
	received := at.advance(entries)
	s.metrics.received.Add(float64(len(received)))
	if err := s.deliver(ctx, received); err != nil {
		s.recordFailure(ctx, "hear", err)
		at.lose(GapPanic)
	}
	if at.gap == "" && at.reached(tail) {
		s.reportSync(ctx, sent)
	}
	return nil
}

// restart resets the observers and continues at the end of the stream.
func (s *Redis) restart(ctx context.Context, rdb redis.UniversalClient, at *streamCursor, sent time.Time) error {
	tail, err := s.tail(ctx, rdb)
	if err != nil {
		return err
	}
	s.metrics.gaps.WithLabelValues(string(at.gap)).Inc()
	s.log.InfoContext(ctx, "following bus", "why", string(at.gap), "at", tail.id())
	if err := s.reset(ctx, at.gap); err != nil {
		return fmt.Errorf("reset observers: %w", err)
	}
	at.position, at.gap = tail, ""
	s.reportSync(ctx, sent)
	return nil
}

func (s *Redis) reportSync(ctx context.Context, at time.Time) {
	if s.suspect.Load() || !s.writable() {
		return
	}
	s.metrics.sync(at)
	if err := s.synced(at); err != nil {
		s.recordFailure(ctx, "hear", err)
	}
}

// recordFailure counts a failure and logs it, at most every ten seconds.
func (s *Redis) recordFailure(ctx context.Context, doing string, err error) {
	s.metrics.errors.WithLabelValues(doing).Inc()
	if s.warnings.Allow() {
		s.log.WarnContext(ctx, "bus operation failed", "doing", doing, "err", err)
	}
}
