package app_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	entfollow "github.com/tandian-dev/tandian/ent/follow"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// feedSmall has sizes that often cause floors, crossings and trims. Ordinary authors have
// up to two batches of followers.
var feedSmall = feed.Config{Threshold: 4, InboxSize: 8, OutboxSize: 6, LogTailSize: 40, Batch: 2}

// feedProcess has the feed services of one of several processes, without background work.
type feedProcess struct {
	app.Components
	on     storetest.Process
	box    *outbox.Box
	hub    *cache.Client
	reg    *prometheus.Registry
	wire   *storetest.FaultyRedis
	closed bool

	// batches is the number of fan-out batches until the process dies and calls onDeath.
	// A process with a negative number does not die.
	batches atomic.Int64
	onDeath func()

	slow   atomic.Bool  // a batch takes more than half of the job timeout
	rounds atomic.Int64 // slow batches

	// An isolated process gets no invalidations and reads rows from memory.
	isolated bool
	memory   sync.Map
}

// errDied is the error of a fan-out in a dead process.
var errDied = errors.New("the process died")

// openFeed builds the services on stores. wire injects faults of Redis.
func openFeed(t *testing.T, on storetest.Process, wire *storetest.FaultyRedis, caches cache.Options, jobs outbox.Options, cfg feed.Config) *feedProcess {
	t.Helper()
	p := &feedProcess{on: on, reg: prometheus.NewRegistry(), wire: wire}
	p.batches.Store(-1)
	var err error
	caches.Prefix, caches.RedisTimeout, caches.Log = storetest.Prefix, 5*time.Second, on.Log
	if p.hub, err = cache.NewClient(on.Redis, caches); err != nil {
		t.Fatal(err)
	}
	jobs.Dialect, jobs.Log = on.Dialect, on.Log
	if p.box, err = outbox.New(on.SQL.DB, jobs); err != nil {
		t.Fatal(err)
	}
	p.Accounts = account.New(on.DB, p.hub, p.box, account.Config{Redis: on.Redis, Prefix: storetest.Prefix, Registerer: p.reg, Log: on.Log})
	users, feeds := app.UserCounters{Service: p.Accounts}, faultyFeed{app.FeedAdapterOf(&p.Components), p}
	p.Notes = note.New(on.DB, p.hub, p.box, note.Config{Shops: anyShops{}, Users: users, Pictures: slowPictures{}, Feed: feeds})
	p.Follows = follow.New(on.DB, p.hub, p.box, follow.Config{Users: users, Head: p.Notes.LockHead})
	cfg.Notes, cfg.Follows, cfg.Registerer, cfg.Log = feeds, feeds, p.reg, on.Log
	p.Feed = feed.New(on.DB, p.hub, p.box, cfg)
	t.Cleanup(p.close)
	return p
}

// close waits for the background work of the process. It is idempotent.
func (p *feedProcess) close() {
	if !p.closed {
		p.closed = true
		p.Feed.Wait()
		p.box.Wait()
		p.hub.Wait()
	}
}

// pages returns the number of pages that this process read, by their source.
func (p *feedProcess) pages(t *testing.T) map[string]int {
	t.Helper()
	families, err := p.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]int{}
	for _, f := range families {
		if f.GetName() == "tandian_feed_pages_total" {
			for _, m := range f.GetMetric() {
				from[m.GetLabel()[0].GetValue()] += int(m.GetCounter().GetValue())
			}
		}
	}
	return from
}

// faultyFeed is the feed adapter of a process that may die during a fan-out, or be isolated.
type faultyFeed struct {
	app.FeedAdapter
	p *feedProcess
}

func (m faultyFeed) Followers(ctx context.Context, asks []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	switch left := m.p.batches.Load(); {
	case left == 0:
		m.p.onDeath()
		return nil, errDied
	case left > 0:
		m.p.batches.Add(-1)
	}
	if until, ok := ctx.Deadline(); ok && m.p.slow.Load() {
		m.p.rounds.Add(1)
		_ = clock.Sleep(ctx, time.Until(until)*6/10) // more than half, so one batch per attempt
	}
	return m.FeedAdapter.Followers(ctx, asks)
}

// Rows returns notes, which may be stale if the process is isolated.
func (m faultyFeed) Rows(ctx context.Context, ids []int64) (map[int64]any, error) {
	if !m.p.isolated {
		return m.FeedAdapter.Rows(ctx, ids)
	}
	rows := map[int64]any{}
	var unread []int64
	for _, id := range ids {
		if row, read := m.p.memory.Load(id); read {
			rows[id] = row
		} else {
			unread = append(unread, id)
		}
	}
	fresh, err := m.FeedAdapter.Rows(ctx, unread)
	for id, row := range fresh {
		rows[id] = row
		m.p.memory.Store(id, row)
	}
	return rows, err
}

// anyShops contains every shop.
type anyShops struct{}

func (anyShops) OwnerOf(context.Context, int64) (*int64, bool, error) { return nil, true, nil }

func (anyShops) AddComments(context.Context, *ent.Tx, map[int64]int) ([]outbox.JobRef, error) {
	return nil, nil
}

func (anyShops) Touch(...int64) {}

func (anyShops) AfterCommitCounts(context.Context, []int64, []outbox.JobRef) {}

// slowPictures blocks transactions with a hold before their notes get numbers.
type slowPictures struct{ storetest.AnyPictures }

func (slowPictures) SetUsed(ctx context.Context, _ *ent.Tx, _ map[int64]mediapath.Usage) error {
	h, held := ctx.Value(holdKey{}).(*hold)
	if !held {
		return nil
	}
	h.once.Do(func() { close(h.reached) })
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type holdKey struct{}

// hold blocks one transaction.
type hold struct {
	once              sync.Once // a transaction may be retried
	reached, released chan struct{}
}

func (p *feedProcess) publish(ctx context.Context, author int64) (*note.Note, error) {
	return p.Notes.Publish(ctx, author, note.Draft{ShopID: 1, Title: "A note", Content: "Good tea."})
}

// entry is a note in a feed.
type entry struct{ seq, id, author int64 }

// read reads a page of a feed.
func (p *feedProcess) read(ctx context.Context, user int64, first int, after page.Cursor) ([]entry, page.Info, error) {
	got, err := p.Feed.Page(ctx, user, first, after)
	if err != nil {
		return nil, page.Info{}, err
	}
	list := make([]entry, len(got.Edges))
	for i, e := range got.Edges {
		n, _ := e.Note.(*note.Note)
		if n == nil {
			return nil, page.Info{}, errors.New("an edge without a note")
		}
		list[i] = entry{n.Seq, n.ID, n.AuthorID}
	}
	return list, got.Info, nil
}

// due returns the expected feed: existing notes below a number by followed users, newest
// first.
func due(ctx context.Context, db *ent.Client, user, below int64) ([]entry, error) {
	var authors []int64
	err := db.Follow.Query().Where(entfollow.FollowerID(user)).Select(entfollow.FieldFolloweeID).Scan(ctx, &authors)
	if err != nil {
		return nil, err
	}
	rows, err := db.Note.Query().
		Where(entnote.AuthorIDIn(authors...), entnote.DeletedAtIsNil(), entnote.SeqNotNil(), entnote.SeqLT(below)).
		Order(ent.Desc(entnote.FieldSeq)).Select(entnote.FieldID, entnote.FieldSeq, entnote.FieldAuthorID).All(ctx)
	list := make([]entry, len(rows))
	for i, r := range rows {
		list[i] = entry{*r.Seq, r.ID, r.AuthorID}
	}
	return list, err
}

// keysOf returns the Redis keys with one of some prefixes, sorted.
func keysOf(ctx context.Context, on storetest.Process, prefixes ...string) (keys []string, err error) {
	found := on.Redis.Scan(ctx, 0, storetest.Prefix+":*", 1000).Iterator()
	for found.Next(ctx) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(found.Val(), prefix) }) {
			keys = append(keys, found.Val())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), found.Err() // SCAN may return a key twice
}
