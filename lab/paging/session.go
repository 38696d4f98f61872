package paging

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A load is what happens to a feed while it is read.
type load struct {
	name    string
	still   bool    // nothing happens
	ties    float64 // part of the notes that share the millisecond of the one before
	deletes float64 // part of the changes that delete some note; the others publish one
}

func loads() []load {
	return []load{
		{name: "quiet", still: true},
		{name: "inserts"},
		{name: "inserts, 30 % share a millisecond", ties: 0.3},
		{name: "the same and deletes", ties: 0.3, deletes: 0.5},
		{name: "bulk import, 95 % share, and deletes", ties: 0.95, deletes: 0.5},
	}
}

// A note is told apart by its number.
type note struct {
	seq int64 // 1 is the first, without a hole
	ms  int64 // since 1970
	id  int64 // 41 bits of milliseconds since snowflakeEpoch, 10 of a machine, 12 of a sequence
}

// snowflakeEpoch is in milliseconds since 1970: the one with which such ids became known.
const snowflakeEpoch = 1_288_834_974_657

// member is the note in a sorted set. All have 19 digits, so members of one score stand in
// the order of their ids.
func (n note) member() string { return strconv.FormatInt(n.id, 10) }

// A session is somebody who reads a feed of his own, which is a sorted set, to its end.
type session struct {
	key     string
	load    load
	way     way
	random  *rand.Rand
	there   []note // that are in the feed now
	last    note
	at      cursor
	pages   int // shown so far
	shown   map[string]int
	endless bool
}

// newSession makes a reader. A change before the first page fills his feed.
func newSession(key string, l load, w way, random *rand.Rand) *session {
	return &session{
		key: key, load: l, way: w, random: random, shown: map[string]int{},
		last: note{ms: 1_795_392_000_000}, // a night in November 2026
	}
}

// publish makes the next note. One that shares a millisecond has the same machine and the
// next place in its sequence; others come up to 100 ms later.
func (s *session) publish() note {
	n := note{seq: s.last.seq + 1, ms: s.last.ms, id: s.last.id + 1}
	if s.last.seq == 0 || s.random.Float64() >= s.load.ties {
		n.ms += 1 + s.random.Int64N(100)
		n.id = (n.ms-snowflakeEpoch)<<22 | s.random.Int64N(1<<10)<<12
	}
	s.last = n
	s.there = append(s.there, n)
	return n
}

// change queues what happens before the next page.
func (s *session) change(ctx context.Context, pipe redis.Pipeliner) {
	if s.pages == 0 {
		all := make([]redis.Z, notes)
		for i := range all {
			all[i] = s.way.entry(s.publish())
		}
		pipe.ZAdd(ctx, s.key, all...)
		return
	}
	if s.load.still {
		return
	}
	for range changes {
		if s.random.Float64() < s.load.deletes && len(s.there) > 0 {
			i := s.random.IntN(len(s.there))
			pipe.ZRem(ctx, s.key, s.there[i].member())
			s.there = slices.Delete(s.there, i, i+1)
		} else {
			pipe.ZAdd(ctx, s.key, s.way.entry(s.publish()))
		}
	}
}

// show has the reader look at a page, and says whether he goes on: not after one that is
// not full, and not for ever.
func (s *session) show(page []redis.Z) (more bool) {
	s.pages++
	for _, z := range page {
		s.shown[z.Member.(string)]++ //nolint:forcetypeassert // go-redis reads members as strings
	}
	if len(page) < perPage {
		return false
	}
	s.at = s.way.after(s.at, page)
	s.endless = s.pages == maxPages
	return !s.endless
}
