package paging

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// load describes the changes of a feed while it is read.
type load struct {
	name    string
	idle    bool    // no changes
	ties    float64 // share of the notes with the same millisecond as the note before
	deletes float64 // share of the changes that delete a random note; the others publish one
}

func loads() []load {
	return []load{
		{name: "quiet", idle: true},
		{name: "inserts"},
		{name: "inserts, 30 % share a millisecond", ties: 0.3},
		{name: "the same and deletes", ties: 0.3, deletes: 0.5},
		{name: "bulk import, 95 % share, and deletes", ties: 0.95, deletes: 0.5},
	}
}

// note is a note, identified by its seq.
type note struct {
	seq int64 // from 1, without gaps
	ms  int64 // Unix time
	id  int64 // 41 bits of milliseconds since snowflakeEpoch, 10 of a machine, 12 of a sequence
}

// snowflakeEpoch is the epoch of the original snowflake ids, as Unix milliseconds.
const snowflakeEpoch = 1_288_834_974_657

// member returns the member of the note in a sorted set. All have 19 digits, so members with
// the same score are ordered by id.
func (n note) member() string { return strconv.FormatInt(n.id, 10) }

// session is one reader who pages through a private feed, which is a sorted set, to its end.
type session struct {
	key     string
	load    load
	way     way
	random  *rand.Rand
	notes   []note // current notes of the feed
	last    note
	at      cursor
	pages   int // number of pages shown
	shown   map[string]int
	endless bool
}

// newSession creates a reader. The change before the first page fills the feed.
func newSession(key string, l load, w way, random *rand.Rand) *session {
	return &session{
		key: key, load: l, way: w, random: random, shown: map[string]int{},
		last: note{ms: 1_795_392_000_000}, // a night in November 2026
	}
}

// publish creates the next note. A note that shares a millisecond has the same machine and
// the next sequence number; other notes follow within 100 ms.
func (s *session) publish() note {
	n := note{seq: s.last.seq + 1, ms: s.last.ms, id: s.last.id + 1}
	if s.last.seq == 0 || s.random.Float64() >= s.load.ties {
		n.ms += 1 + s.random.Int64N(100)
		n.id = (n.ms-snowflakeEpoch)<<22 | s.random.Int64N(1<<10)<<12
	}
	s.last = n
	s.notes = append(s.notes, n)
	return n
}

// change queues the changes before the next page.
func (s *session) change(ctx context.Context, pipe redis.Pipeliner) {
	if s.pages == 0 {
		all := make([]redis.Z, notes)
		for i := range all {
			all[i] = s.way.entry(s.publish())
		}
		pipe.ZAdd(ctx, s.key, all...)
		return
	}
	if s.load.idle {
		return
	}
	for range changes {
		if s.random.Float64() < s.load.deletes && len(s.notes) > 0 {
			i := s.random.IntN(len(s.notes))
			pipe.ZRem(ctx, s.key, s.notes[i].member())
			s.notes = slices.Delete(s.notes, i, i+1)
		} else {
			pipe.ZAdd(ctx, s.key, s.way.entry(s.publish()))
		}
	}
}

// show records a page and reports whether the reader continues. The reader stops after a page
// that is not full, and after maxPages.
func (s *session) show(page []redis.Z) (more bool) {
	s.pages++
	for _, z := range page {
		s.shown[z.Member.(string)]++ //nolint:forcetypeassert // go-redis returns members as strings
	}
	if len(page) < perPage {
		return false
	}
	s.at = s.way.after(s.at, page)
	s.endless = s.pages == maxPages
	return !s.endless
}
