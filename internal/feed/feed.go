// Package feed serves the notes of the authors that a user follows, newest first.
//
// The source of truth is two tables, follows and notes. The feed is their join, ordered by feed
// number. A note's transaction takes its number last, so numbers follow the commits. Every page
// equals the result of that query at the time of the page. The other parts only make it faster:
//
//   - Inboxes (inbox.go). Fan-outs push notes to one sorted set per follower in Redis, which holds
//     the newest 500. An inbox has no gaps above its oldest entry. Pages below that floor come from
//     the database, with the same cursors. The inbox of a user that does not read expires after
//     14 days.
//
//   - The fan-out (fanout.go). A job of the transaction that publishes a note pushes it. Neither
//     the writer nor the readers wait for it.
//
//   - The log tail (log_tail.go). Each process knows the newest numbers of the log of notes. It
//     merges notes that may not be pushed yet, and hides notes that are deleted. Numbers have no
//     gaps, so a process detects missing ones.
//
//   - Celebrities (celebrity.go). Notes of authors with very many followers are not pushed. They
//     are in a timeline per author, which readers merge.
//
//   - The live hub (live_hub.go). It serves live feeds from a position in the same log and an
//     index by author of the followers that are connected to this process.
//
// Every read checks its entries. The script that reads the inbox omits authors that are not in the
// window of followees. A note without a row is hidden.
package feed

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Threshold is the default number of followers that makes an author a celebrity. In simulations of
// a million to a hundred million users it is near the cheapest value (lab bench feedsim).
const Threshold = 100_000

// Notes provides notes to a [Service]. Implementations must be safe for concurrent use.
type Notes interface {
	// Rows returns the notes that exist, by id, in the type that the graph shows as a note.
	Rows(ctx context.Context, ids []int64) (map[int64]any, error)
	// WriteRow and ReadRow encode and decode a row for other processes.
	WriteRow(row any) ([]byte, error)
	ReadRow(text []byte) (row any, err error)
	// Newest reads the newest notes of some authors from the database, by author.
	Newest(ctx context.Context, authors []int64, limit int) (map[int64][]cache.ListItem, error)
}

// Follows provides follows to a [Service]. Implementations must be safe for concurrent use.
type Follows interface {
	// Window returns the followees of each user: followee in decimal → id of the follow.
	Window() *cache.Window[int64]
	// Followers reads parts of the lists of followers from the database, newest first: id of the
	// follow, and follower.
	Followers(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error)
}

// Config holds the dependencies and sizes of a [Service]. Notes and Follows are required.
type Config struct {
	Notes   Notes
	Follows Follows

	Threshold   int           // followers that make an author a celebrity; default [Threshold]
	InboxSize   int           // entries of an inbox; default 500
	InboxLife   time.Duration // minimum lifetime of an inbox after a read; at most a third longer; default 14 days
	OutboxSize  int           // entries of a celebrity's outbox; default 200
	LogTailSize int           // minimum number of log events in memory; default 65 536
	Batch       int           // followers per batch of a fan-out; default 1000

	// Announce sends a hint about new events to the [Service.ReceiveHint] of other processes. It
	// may fail, and hints may be lost. It is nil if there are no other processes.
	Announce func(ctx context.Context, hint []byte) error

	Registerer prometheus.Registerer // default: none
	Log        *slog.Logger          // default: none
	Now        func() time.Time      // default time.Now
}

func (c Config) withDefaults() Config {
	c.Threshold = cmp.Or(c.Threshold, Threshold)
	c.InboxSize = cmp.Or(c.InboxSize, 500)
	c.InboxLife = cmp.Or(c.InboxLife, 14*24*time.Hour)
	c.OutboxSize = cmp.Or(c.OutboxSize, 200)
	c.LogTailSize = cmp.Or(c.LogTailSize, 65_536)
	c.Batch = cmp.Or(c.Batch, 1000)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Service serves feeds. It is safe for concurrent use.
type Service struct {
	db     *ent.Client
	cfg    Config
	outbox *outbox.Box
	sql    statements
	m      metrics

	tail          *logTail
	hub           *liveHub
	loader        *noteLoader   // notes of live feeds
	hintReady     chan struct{} // capacity 1: there are pending hints
	hints         pendingHints
	inboxes       *cache.Union[int64]
	timelineCache *cache.Cache[int64, authorTimeline]
	celebrities   celebrityCache
	rounds        chan struct{} // semaphore: rounds of fan-outs
	queries       chan struct{} // semaphore: feeds read from the database
}

//go:embed sql/*.sql
var files embed.FS

type statements struct{ newest, events, begun, followees string }

// New returns a Service. Calls start short reads of the feed log in the background, so the caller
// closes the dependencies after [Service.Wait].
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, cfg: cfg.withDefaults(), outbox: box, rounds: make(chan struct{}, roundsAtOnce), queries: make(chan struct{}, queriesAtOnce)}
	if err := sqldb.ReadStatements(files, db.Dialect(), map[string]*string{
		"newest": &s.sql.newest, "events": &s.sql.events, "begun": &s.sql.begun, "followees": &s.sql.followees,
	}); err != nil {
		panic(fmt.Sprintf("feed: %v", err)) // the files are part of the program
	}
	s.m = newMetrics(s.cfg.Registerer)
	s.tail = newLogTail(s.cfg.LogTailSize, eventLog{db, box, s.sql.events})
	s.hub, s.hintReady = newLiveHub(s), make(chan struct{}, 1)
	s.loader = newNoteLoader(s.cfg.Notes)
	s.m.registerLag(s.cfg.Registerer, s.hub)
	s.openInboxes(hub)
	s.openTimelineCache(hub)
	box.Handle(Topic, outbox.Handler{Queued: true, Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.fanOut)})
	return s
}

// Run serves live feeds and tracks the open fan-outs, until ctx ends. Each process that serves
// feeds must run it. Without it, live feeds receive nothing, and pages are correct but slower.
func (s *Service) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { s.tail.run(ctx, s.cfg.Log) })
	both.Go(func() { s.runLive(ctx) })
	both.Wait()
	return nil
}

// RefreshFanOuts rereads the open fan-outs. Call it after jobs were replayed.
func (s *Service) RefreshFanOuts(ctx context.Context) error { return s.tail.refreshOpen(ctx) }

// MarkSuspect rereads the log before the next page or live update, and resyncs live feeds. Call it
// after the database was promoted or restored: it may lack the end of the log.
func (s *Service) MarkSuspect() {
	s.tail.markSuspect()
	s.hub.markSuspect()
}

// Wait waits for the reads of the log and of live notes. Call it before the database closes.
func (s *Service) Wait() {
	s.tail.wait()
	s.loader.reads.Wait()
}
