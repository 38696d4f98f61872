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

// inboxName begins the keys of the inboxes, sorted sets of kit/cache: PREFIX:feed:in:{USER} maps
// AUTHOR/NOTE to number. The key with the suffix :s holds the newest follow that the inbox
// includes, the key with :l is the lock of a load. The followees of the user are in the same slot.
//
// Only reads create and refresh an inbox, so each one belongs to an active reader.
const inboxName = "feed:in"

const firstPerAuthor = 16 // notes per author that the first read for an inbox selects

const (
	loadTimeout  = 2 * time.Second // to load an inbox
	queryTimeout = 5 * time.Second // to read a page from the database
)

// queriesAtOnce limits the feeds that a process reads from the database at once. If Redis is
// unavailable, or too many fan-outs are under way, all feeds come from the database, and writers
// and fan-outs need connections too.
const queriesAtOnce = 8

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) openInboxes(hub *cache.Client) {
	s.inboxes = cache.NewUnion(hub, cache.WindowPolicy{
		// A window that is not read lives for at least three quarters of its TTL.
		Name: inboxName, Size: s.cfg.InboxSize, TTL: s.cfg.InboxLife * 4 / 3, LoadTimeout: loadTimeout,
	}, s.cfg.Follows.Window(), s.loadInbox)
}

// An entry is the position of a note in a feed.
type entry struct{ seq, note, author int64 }

func (p entry) cacheEntry() cache.Entry {
	return cache.UnionEntry(decimal(p.author), decimal(p.note), p.seq)
}

// parseEntry is the inverse of cacheEntry. It reports false for a member in another format.
func parseEntry(e cache.Entry) (entry, bool) {
	author, note, found := strings.Cut(e.Member, "/")
	a, err := parseDecimal(author)
	n, err2 := parseDecimal(note)
	return entry{seq: e.Score, note: n, author: a}, found && err == nil && err2 == nil
}

// loadInbox loads the inbox of a user, from the follows whose ids exceed above. It also returns the
// id of the newest follow.
func (s *Service) loadInbox(ctx context.Context, user, above int64, limit int) ([]cache.Entry, int64, error) {
	entries, newest, err := s.newest(ctx, user, math.MaxInt64, limit, min(limit, firstPerAuthor), above)
	members := make([]cache.Entry, len(entries))
	for i, p := range entries {
		members[i] = p.cacheEntry()
	}
	return members, newest, err
}

// newest reads from the database the newest notes below a number by the followees of a user. It
// considers only the follows whose ids exceed above, and returns the largest of these ids.
func (s *Service) newest(ctx context.Context, user, below int64, limit, ofEach int, above int64) (entries []entry, newest int64, err error) {
	select {
	case s.queries <- struct{}{}:
		defer func() { <-s.queries }()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("wait to select feed of user %d: %w", user, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = sqldb.Each(ctx, s.db, s.sql.newest, []any{user, below, limit, ofEach, above}, func(rows *sql.Rows) error {
		var author, seq, note sql.NullInt64
		if err := rows.Scan(&newest, &author, &seq, &note); err != nil {
			return err
		}
		if note.Valid {
			entries = append(entries, entry{seq: seq.Int64, note: note.Int64, author: author.Int64})
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("select feed of user %d: %w", user, err)
	}
	return entries, newest, nil
}
