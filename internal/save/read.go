package save

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	entsql "entgo.io/ent/dialect/sql"

	entsave "github.com/tandian-dev/tandian/ent/save"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Page is one page of the targets that a user saved, newest save first.
type Page struct {
	Items []Item
	Info  page.Info
}

// Item is a saved target with its cursor.
type Item struct {
	Target int64
	Cursor page.Cursor
}

// Saved reports which targets a user saved. The result omits the others. User 0 saved nothing. It
// reflects all completed calls of [Service.Save].
//
// It needs one round trip on one key, for any number of targets. If the user saved more than the
// set holds, one statement decides the targets that are not in it. All errors come from the
// database.
func (s *Service) Saved(ctx context.Context, user int64, ids []int64) (map[int64]bool, error) {
	if user == 0 || len(ids) == 0 {
		return nil, nil
	}
	ctx, span := observe.Span(ctx, "save.Saved")
	defer span.End()
	members := make([]string, len(ids))
	for i, id := range ids {
		members[i] = decimal(id)
	}
	set, err := s.saved.Has(ctx, user, members)
	if err != nil {
		return nil, fmt.Errorf("read saves of user %d: %w", user, err)
	}
	found := make(map[int64]bool)
	var older []int64
	for i, id := range ids {
		if set.Has[members[i]] {
			found[id] = true
		} else if !set.Whole { // the id of this save is unknown, so the floor does not help
			older = append(older, id)
		}
	}
	if len(older) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var stored []int64
	err = s.db.Save.Query().Where(entsave.KindEQ(s.kind()), entsave.TargetIDIn(older...), entsave.UserID(user)).
		Select(entsave.FieldTargetID).Scan(ctx, &stored)
	if err != nil {
		return nil, fmt.Errorf("select which of %d older %ss user %d saved: %w", len(older), s.noun(), user, err)
	}
	for _, id := range stored {
		found[id] = true
	}
	return found, nil
}

// List returns a page of the existing targets that a user saved, newest save first. It reflects
// all completed calls of [Service.Save]. It skips deleted targets and fills the page from further
// saves.
//
// Pages are ordered by the ids of saves. So a list that is read page by page shows each save of
// its beginning once, unless it is removed. New saves appear at the start of the list, or by the
// time of their insert if several processes save for one user at once.
//
// Pages of the newest saves are one round trip to Redis, later ones one more statement. An
// invalid page is an [apierror.BadUserInput] error.
func (s *Service) List(ctx context.Context, user int64, first int, after page.Cursor) (*Page, error) {
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	below := int64(math.MaxInt64)
	if after != "" {
		if err := page.Decode(after, s.cursorName(), &below); err != nil {
			return nil, err
		}
	}
	ctx, span := observe.Span(ctx, "save.List")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	items, err := s.existing(ctx, user, below, first+1)
	if err != nil {
		return nil, fmt.Errorf("list %ss that user %d saved: %w", s.noun(), user, err)
	}
	more := len(items) > first
	p := &Page{Items: items[:min(len(items), first)]}
	cursors := make([]page.Cursor, len(p.Items))
	for i, item := range p.Items {
		cursors[i] = item.Cursor
	}
	p.Info = page.InfoOf(cursors, after, more)
	return p, nil
}

func (s *Service) cursorName() string { return "saved-" + s.noun() + "s" }

// existing returns at most limit of the newest saves of existing targets below an id. After a read
// with deleted targets it reads more saves at once, so that many of them cost few round trips.
func (s *Service) existing(ctx context.Context, user, below int64, limit int) (items []Item, err error) {
	for n := limit; len(items) < limit; n = page.Max {
		saves, err := s.newest(ctx, user, below, n)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, len(saves))
		for i, at := range saves {
			ids[i] = at.ID
		}
		exist, err := s.cfg.Target.Exist(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("read which of %d %ss exist: %w", len(ids), s.noun(), err)
		}
		for _, at := range saves {
			if exist[at.ID] {
				items = append(items, Item{at.ID, page.Encode(s.cursorName(), at.Pos)})
			}
		}
		if len(saves) < n {
			break
		}
		below = saves[n-1].Pos
	}
	return items[:min(len(items), limit)], nil
}

// newest returns at most limit of the newest saves of a user below an id, from the set, and from
// the rows below it.
func (s *Service) newest(ctx context.Context, user, below int64, limit int) ([]cache.ListItem, error) {
	var after *cache.Entry
	if below != math.MaxInt64 {
		after = &cache.Entry{Score: below} // no member is empty, so entries with this score are excluded
	}
	entries, complete, err := s.saved.Page(ctx, user, after, limit)
	if err != nil {
		return nil, err
	}
	items := make([]cache.ListItem, 0, limit)
	for _, e := range entries {
		id, err := parseDecimal(e.Member)
		if err != nil { // invalid set
			items, complete = items[:0], false
			break
		}
		items = append(items, cache.ListItem{Pos: e.Score, ID: id})
	}
	if complete {
		return items, nil
	}
	if n := len(items); n > 0 {
		below = items[n-1].Pos
	}
	rows, err := s.db.Save.Query().Where(entsave.KindEQ(s.kind()), entsave.UserID(user), entsave.IDLT(below)).
		Order(entsave.ByID(entsql.OrderDesc())).Limit(limit-len(items)).Select(entsave.FieldID, entsave.FieldTargetID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select saves below %d: %w", below, err)
	}
	for _, r := range rows {
		items = append(items, cache.ListItem{Pos: r.ID, ID: r.TargetID})
	}
	return items, nil
}

// loadSaved reads the newest saves of users, newest first.
func (s *Service) loadSaved(ctx context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
	sets := make(map[int64][]cache.Entry, len(users))
	err := sqldb.Each(ctx, s.db, s.sql.newest, []any{sqldb.JSON(users), string(s.cfg.Kind), limit}, func(rows *sql.Rows) error {
		var user, id, target int64
		err := rows.Scan(&user, &id, &target)
		sets[user] = append(sets[user], cache.Entry{Member: decimal(target), Score: id})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select saves of %ss by %d users: %w", s.noun(), len(users), err)
	}
	return sets, nil
}
