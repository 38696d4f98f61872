package feed

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// inboxName begins the names of the inboxes, sorted sets as kit/cache makes them:
// PREFIX:feed:in:{USER}, AUTHOR/NOTE → number; with :s the newest follow whose notes it
// holds, and with :l the right to load one. Whom the user follows lies in the same slot.
//
// An inbox that is there belongs to somebody who reads: only reading makes one, and keeps it.
const inboxName = "feed:in"

// readOfEach is how many notes of each author are read at first to fill an inbox.
const readOfEach = 16

const (
	loadTimeout  = 2 * time.Second // of what fills an inbox
	queryTimeout = 5 * time.Second // of what reads a page from the database
)

// queriesAtOnce is how many feeds a process reads from the database at once: while Redis is
// away, or too much is on its way to the inboxes, all of them are read there, and those who
// write and push need connections too.
const queriesAtOnce = 8

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) openInboxes(hub *cache.Client) {
	s.inboxes = cache.NewUnion(hub, cache.WindowPolicy{
		// A window that is not read lives for three quarters of its life at least.
		Name: inboxName, Size: s.cfg.InboxSize, TTL: s.cfg.InboxLife * 4 / 3, LoadTimeout: loadTimeout,
	}, s.cfg.Follows.Window(), s.loadInbox)
}

// A entry is a note's place in a feed.
type entry struct{ seq, note, author int64 }

func (p entry) cacheEntry() cache.Entry {
	return cache.UnionEntry(decimal(p.author), decimal(p.note), p.seq)
}

// spotOf is the opposite of entry. It reports false of what is nothing of ours.
func spotOf(e cache.Entry) (entry, bool) {
	author, note, found := strings.Cut(e.Member, "/")
	a, err := parseDecimal(author)
	n, err2 := parseDecimal(note)
	return entry{seq: e.Score, note: n, author: a}, found && err == nil && err2 == nil
}

// loadInbox is the loader of the inboxes: a source is a followee, its score the follow's id.
func (s *Service) loadInbox(ctx context.Context, user, above int64, limit int) ([]cache.Entry, int64, error) {
	spots, newest, err := s.newest(ctx, user, math.MaxInt64, limit, min(limit, readOfEach), above)
	entries := make([]cache.Entry, len(spots))
	for i, p := range spots {
		entries[i] = p.cacheEntry()
	}
	return entries, newest, err
}

// newest reads from the database the newest notes below a number of whom a user follows,
// those whose follows have ids above one; and the newest of these ids.
func (s *Service) newest(ctx context.Context, user, below int64, most, ofEach int, above int64) (spots []entry, newest int64, err error) {
	select {
	case s.queries <- struct{}{}:
		defer func() { <-s.queries }()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("wait to select the feed of user %d: %w", user, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = sqldb.Each(ctx, s.db, s.sql.newest, []any{user, below, most, ofEach, above}, func(rows *sql.Rows) error {
		var author, seq, note sql.NullInt64
		if err := rows.Scan(&newest, &author, &seq, &note); err != nil {
			return err
		}
		if note.Valid {
			spots = append(spots, entry{seq: seq.Int64, note: note.Int64, author: author.Int64})
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("select the feed of user %d: %w", user, err)
	}
	return spots, newest, nil
}
