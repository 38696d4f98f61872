// Package feed is the notes of whom a user follows, newest first.
//
// The truth is two tables: follows and notes. Their join, ordered by the number that a
// note's transaction took last, is the feed; every page is what that query would answer at
// the moment of the page. All else is there to be faster, and may be lost at any time:
//
//   - Inboxes (inbox.go): what was pushed to a follower lies in Redis, the newest 500,
//     without a hole from the oldest entry on. Below that floor a page comes from the
//     database, with the same cursor. A user who has not read for 14 days has none.
//
//   - The fan-out (fanout.go) pushes a note, by a job of the transaction that published it.
//     It is never waited for, neither by who publishes nor by who reads.
//
//   - The tail (log_tail.go): each process knows the newest numbers of the log of notes. What is
//     published but perhaps not yet pushed is merged from there, and what is deleted is
//     hidden; since the numbers are dense, a process knows when it knows all.
//
//   - Stars (celebrity.go): who has very many followers is not pushed, but kept in an outbox,
//     which readers merge.
//
//   - The hub (live_hub.go) tells live feeds: a position in the same log, and an index of who, of
//     those who are connected to this process, follows whom.
//
// What is shown is decided when it is read: whether the author is followed, by the window of
// followees, in the script that reads the inbox; whether the note is there, by its row.
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

// Threshold is how many followers make an author a star, if nothing else is configured: near
// the cheapest by `tandian bench feedsim`, from a million users to a hundred million.
const Threshold = 100_000

// Notes are the notes, as feeds need them.
type Notes interface {
	// Rows returns those of the notes that are there, whatever the graph shows as a note.
	Rows(ctx context.Context, ids []int64) (map[int64]any, error)
	// WriteRow and ReadRow have a row cross to another process.
	WriteRow(row any) ([]byte, error)
	ReadRow(text []byte) (row any, err error)
	// Newest reads the newest notes of some authors from the database, by author.
	Newest(ctx context.Context, authors []int64, most int) (map[int64][]cache.ListItem, error)
}

// Follows are the follows, as feeds need them.
type Follows interface {
	// Window has whom each user follows: followee in decimal → id of the follow.
	Window() *cache.Window[int64]
	// Followers reads parts of the lists of followers from the database: id of the follow and
	// follower, the newest first.
	Followers(ctx context.Context, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error)
}

// Config joins a Service with the other rooms, and tunes it. Notes and Follows are required.
type Config struct {
	Notes   Notes
	Follows Follows

	Threshold   int           // followers that make an author a star; default [Threshold]
	InboxSize   int           // entries of an inbox; default 500
	InboxLife   time.Duration // without a read, an inbox is kept for as long, and by a third longer at most; default 14 days
	OutboxSize  int           // entries of a star's outbox; default 200
	LogTailSize int           // numbers that a process remembers at least; default 65 536
	Batch       int           // followers of one batch of a fan-out; default 1000

	// Announce tells other processes, whose Hear gets it, what is new for live feeds. It may
	// fail, and what it said may be lost. Nil if there are none.
	Announce func(ctx context.Context, hint []byte) error

	Registerer prometheus.Registerer // default: none
	Log        *slog.Logger
	Now        func() time.Time // default time.Now
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

// Service answers for feeds. It is safe for concurrent use.
type Service struct {
	db     *ent.Client
	cfg    Config
	outbox *outbox.Box
	sql    statements
	m      metrics

	tail     *logTail
	hub      *liveHub
	rows     *noteLoader   // for what live feeds tell
	numbered chan struct{} // of capacity 1: there is something to announce
	hints    pendingHints  // what that is
	inboxes  *cache.Union[int64]
	outs     *cache.Cache[int64, authorTimeline]
	stars    celebrityCache
	rounds   chan struct{} // a place for each round of a fan-out that may be under way
	queries  chan struct{} // a place for each feed that may be read from the database
}

//go:embed sql/*.sql
var files embed.FS

type statements struct{ newest, events, begun, followees string }

// New returns a Service. It starts short reads of the feed log only, and the caller closes
// the dependencies after [Service.Wait].
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, cfg: cfg.withDefaults(), outbox: box, rounds: make(chan struct{}, roundsAtOnce), queries: make(chan struct{}, queriesAtOnce)}
	if err := sqldb.Read(files, db.Dialect(), map[string]*string{
		"newest": &s.sql.newest, "events": &s.sql.events, "begun": &s.sql.begun, "followees": &s.sql.followees,
	}); err != nil {
		panic(fmt.Sprintf("feed: %v", err)) // the files are part of the program
	}
	s.m = newMetrics(s.cfg.Registerer)
	s.tail = newTail(s.cfg.LogTailSize, eventLog{db, box, s.sql.events})
	s.hub, s.numbered = newHub(s), make(chan struct{}, 1)
	s.rows = newRows(s.cfg.Notes)
	s.m.ofHub(s.cfg.Registerer, s.hub)
	s.openInboxes(hub)
	s.openOutboxes(hub)
	box.Handle(Topic, outbox.Handler{Queued: true, Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.fanOut)})
	return s
}

// Run tells live feeds what happens, and keeps the process' knowledge of the fan-outs that are
// under way small, until ctx ends. Without it live feeds are silent; pages are as right, and
// cost more and more.
func (s *Service) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { s.tail.run(ctx, s.cfg.Log) })
	both.Go(func() { s.runLive(ctx) })
	both.Wait()
	return nil
}

// RefreshFanOuts looks anew which fan-outs are under way: after jobs were replayed.
func (s *Service) RefreshFanOuts(ctx context.Context) error { return s.tail.look(ctx) }

// MarkSuspect is for a database that was promoted or restored: it may lack the end of the log.
// What this process knows of it is read anew before a page or a live feed says anything
// more, and those who follow live feeds are told to read theirs anew.
func (s *Service) MarkSuspect() {
	s.tail.doubt()
	s.hub.markSuspect()
}

// Wait returns when no read of the log is under way. Call it before the database closes.
func (s *Service) Wait() {
	s.tail.wait()
	s.rows.reads.Wait()
}
