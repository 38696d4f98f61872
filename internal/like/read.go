package like

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	// likersSize is the number of first likers in the set of a note. After unlikes the set
	// has at least half of them, which is the largest page, or is dropped.
	likersSize = 2 * page.Max
	// likedSize is the number of targets in the set of a user. With its marker the set has
	// fewer than 128 members, so Redis stores it compactly, in about 2.6 KB.
	likedSize = 120
)

// Liked reports which targets a user likes. The result omits the others. User 0 likes nothing. It
// reflects all completed calls of [Service.Like].
//
// It needs one round trip on one key, for any number of targets. The set of a user holds the newest
// liked targets: above the oldest of them, a target is liked only if it is in the set. Older
// targets need one statement if the user likes more than the set holds. All errors come from the
// database.
func (s *Service) Liked(ctx context.Context, user int64, ids []int64) (map[int64]bool, error) {
	if user == 0 || len(ids) == 0 {
		return nil, nil
	}
	ctx, span := observe.Span(ctx, "like.Liked")
	defer span.End()
	members := make([]string, len(ids))
	for i, id := range ids {
		members[i] = decimal(id)
	}
	set, err := s.liked.Has(ctx, user, members)
	if err != nil {
		return nil, fmt.Errorf("read likes of user %d: %w", user, err)
	}
	found := make(map[int64]bool)
	var older []int64
	for i, id := range ids {
		switch {
		case set.Has[members[i]]:
			found[id] = true
		case !set.Whole && id <= set.Floor:
			older = append(older, id)
		}
	}
	if len(older) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := s.db.Like.Query().
		Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.TargetIDIn(older...), entlike.UserID(user)).
		Select(entlike.FieldTargetID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select which of %d older %ss user %d likes: %w", len(older), s.noun(), user, err)
	}
	for _, r := range rows {
		found[r.TargetID] = true
	}
	return found, nil
}

// FirstLikers returns the first likers of each target, in order and at most first of them.
// It omits targets without likes. It reflects all completed calls of [Service.Like].
//
// For notes it needs one round trip, and one statement for all missing sets. For comments,
// which have no such sets, it needs one statement. An invalid first is an
// [apierror.BadUserInput] error. All other errors come from the database.
func (s *Service) FirstLikers(ctx context.Context, ids []int64, first int) (map[int64][]int64, error) {
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	ctx, span := observe.Span(ctx, "like.First")
	defer span.End()
	found := make(map[int64][]int64, len(ids))
	short := ids
	if s.likers != nil {
		pages, err := s.likers.Pages(ctx, ids, first)
		if err != nil {
			return nil, fmt.Errorf("read first likers of %d %ss: %w", len(ids), s.noun(), err)
		}
		short = nil
		for id, p := range pages {
			users, err := usersOf(p.Entries)
			if err != nil || !p.Complete { // incomplete or invalid set
				short = append(short, id)
			} else if len(users) > 0 {
				found[id] = users
			}
		}
	}
	if len(short) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := s.loadLikers(ctx, short, first)
	for id, entries := range rows {
		if found[id], err = usersOf(entries); err != nil {
			break
		}
	}
	return found, err
}

func usersOf(entries []cache.Entry) ([]int64, error) {
	users := make([]int64, len(entries))
	for i, e := range entries {
		var err error
		if users[i], err = parseDecimal(e.Member); err != nil {
			return nil, fmt.Errorf("invalid user %.30q", e.Member)
		}
	}
	return users, nil
}

func (s *Service) loadLikers(ctx context.Context, ids []int64, limit int) (map[int64][]cache.Entry, error) {
	return s.load(ctx, s.sql.first, ids, limit, func(rows *sql.Rows) (id int64, e cache.Entry, err error) {
		var row, user int64
		err = rows.Scan(&id, &row, &user)
		return id, likerEntry(user, row), err
	})
}

func (s *Service) loadLiked(ctx context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
	return s.load(ctx, s.sql.newest, users, limit, func(rows *sql.Rows) (user int64, e cache.Entry, err error) {
		var id int64
		err = rows.Scan(&user, &id)
		return user, cache.Entry{Member: decimal(id), Score: id}, err
	})
}

// load reads the sets of several keys with one statement, whose rows are in set order.
func (s *Service) load(ctx context.Context, text string, keys []int64, limit int, scan func(*sql.Rows) (int64, cache.Entry, error)) (map[int64][]cache.Entry, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("encode %d ids: %w", len(keys), err)
	}
	sets := make(map[int64][]cache.Entry, len(keys))
	err = sqldb.Each(ctx, s.db, text, []any{string(list), string(s.kind), limit}, func(rows *sql.Rows) error {
		key, e, err := scan(rows)
		sets[key] = append(sets[key], e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d sets of likes of %ss: %w", len(keys), s.noun(), err)
	}
	return sets, nil
}
