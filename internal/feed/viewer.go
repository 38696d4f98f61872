package feed

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// A viewer is a user with live feeds in some sessions. Each followee takes 16 bytes here, and 8 to
// 16 in the index by author.
type viewer struct {
	user     int64
	version  int64      // of the loaded follows
	loaded   bool       // follows is valid
	follows  []followed // by author
	newest   int64      // log number at the newest follow
	sessions []*session
	left     time.Time // time when the last session closed
}

// A followed is a followee with the log head at the commit of the follow. Later notes are due.
type followed struct{ author, since int64 }

type followStart struct {
	user int64
	followed
}

func (v *viewer) due(e Event) bool {
	i, follows := v.find(e.Author)
	return follows && v.follows[i].since < e.Seq
}

func (v *viewer) find(author int64) (int, bool) {
	return slices.BinarySearchFunc(v.follows, author, func(f followed, author int64) int { return cmp.Compare(f.author, author) })
}

// begin adds a followee to a viewer. The caller holds mu.
func (h *liveHub) begin(v *viewer, f followed) {
	v.newest = max(v.newest, f.since)
	i, follows := v.find(f.author)
	if follows {
		v.follows[i].since = max(v.follows[i].since, f.since)
		return
	}
	v.follows = slices.Insert(v.follows, i, f)
	h.authors[f.author] = append(h.authors[f.author], v)
}

// setFollows replaces the follows of a viewer, sorted by author. The caller holds mu.
func (h *liveHub) setFollows(v *viewer, fresh []followed) {
	old := v.follows
	for _, f := range old {
		if _, still := slices.BinarySearchFunc(fresh, f.author, func(f followed, author int64) int { return cmp.Compare(f.author, author) }); !still {
			h.drop(f.author, v)
		}
	}
	v.newest = 0
	for _, f := range fresh {
		v.newest = max(v.newest, f.since)
		if _, was := v.find(f.author); !was {
			h.authors[f.author] = append(h.authors[f.author], v)
		}
	}
	v.follows = slices.Clip(fresh)
}

// drop removes a viewer from the index of an author.
func (h *liveHub) drop(author int64, v *viewer) {
	list := h.authors[author]
	i := slices.Index(list, v)
	if i < 0 {
		return
	}
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	if h.authors[author] = list[:last]; last == 0 {
		delete(h.authors, author)
	}
}

// markDirty schedules a reload of the follows of users that are connected.
func (h *liveHub) markDirty(users ...int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range users {
		if h.viewers[u] != nil {
			h.dirty[u] = true
			h.signal()
		}
	}
}

// markFollowsStale schedules a check of the follow versions of all viewers.
func (h *liveHub) markFollowsStale() {
	h.followsStale.Store(true)
	h.signal()
}

// load reads the follows of users. Only run calls it, so no event is delivered meanwhile, and the
// follows are at least as new as the last delivered event.
func (h *liveHub) load(ctx context.Context, users []int64) error {
	slices.Sort(users)
	h.mu.Lock()
	for _, u := range users { // later changes cause another load
		delete(h.dirty, u)
	}
	h.mu.Unlock()
	versions, err := h.s.versions(ctx, users) // before the rows, which are at least as new
	var rows []followStart
	if err == nil {
		rows, err = h.s.followsOf(ctx, users)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		for _, u := range users {
			if v := h.viewers[u]; v != nil && v.loaded {
				h.dirty[u] = true
			}
		}
		return err
	}
	for _, u := range users {
		n := 0
		for n < len(rows) && rows[n].user == u {
			n++
		}
		if v := h.viewers[u]; v != nil {
			fresh := make([]followed, n)
			for i, r := range rows[:n] {
				fresh[i] = r.followed
			}
			h.setFollows(v, fresh)
			v.version, v.loaded = versions[u], true
		}
		rows = rows[n:]
	}
	return nil
}

func (h *liveHub) loadAll(ctx context.Context) error {
	h.mu.Lock()
	users := slices.Collect(maps.Keys(h.viewers))
	h.mu.Unlock()
	for some := range slices.Chunk(users, viewersAtOnce) {
		if err := h.load(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// checkVersions marks viewers dirty if their follow version has changed.
func (h *liveHub) checkVersions(ctx context.Context) error {
	h.mu.Lock()
	users := make([]int64, 0, len(h.viewers))
	for u, v := range h.viewers {
		if v.loaded {
			users = append(users, u)
		}
	}
	h.mu.Unlock()
	for some := range slices.Chunk(users, versionsAtOnce) {
		versions, err := h.s.versions(ctx, some)
		if err != nil {
			return err
		}
		h.mu.Lock()
		for _, u := range some {
			if v := h.viewers[u]; v != nil && v.version != versions[u] {
				h.dirty[u] = true
			}
		}
		h.mu.Unlock()
	}
	return nil
}

func (s *Service) versions(ctx context.Context, users []int64) (map[int64]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	rows, err := s.db.User.Query().Where(user.IDIn(users...)).Select(user.FieldID, user.FieldFollowVersion).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select follow versions of %d users: %w", len(users), err)
	}
	versions := make(map[int64]int64, len(rows))
	for _, r := range rows {
		versions[r.ID] = r.FollowVersion
	}
	return versions, nil
}

// followsOf reads the follows of users, by user and author.
func (s *Service) followsOf(ctx context.Context, users []int64) (list []followStart, err error) {
	ids, err := json.Marshal(users)
	if err != nil {
		return nil, fmt.Errorf("encode %d users: %w", len(users), err)
	}
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	err = sqldb.Each(ctx, s.db, s.sql.followees, []any{string(ids)}, func(rows *sql.Rows) error {
		var b followStart
		err := rows.Scan(&b.user, &b.author, &b.since)
		list = append(list, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select follows of %d users: %w", len(users), err)
	}
	return list, nil
}
