package note

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// Hot notes are ranked by likes and age together: ten times as many likes (one more is
// counted, so that the first one counts) outweigh a week. By likes alone what was ever
// popular would lead for ever, and by age alone it would be a list of the newest. The
// rank is a time, which grows with likes and never with age: so it stands in an index,
// is the same for every reader, and changes with a like alone. The idea is that of the
// ranking by which Reddit sorted stories; A. Salihefendic described it in 2010.
const tenfold = 7 * 24 * time.Hour

// bonus is by how many milliseconds likes make a note look younger.
func bonus(likes int) int64 {
	return int64(math.Round(float64(tenfold.Milliseconds()) * math.Log10(1+float64(max(likes, 0)))))
}

// hotRank is the rank of a note among hot ones, in milliseconds since 1970: the moment at
// which a note without likes would have to be published to rank the same.
func hotRank(createdMs int64, likes int) int64 { return createdMs + bonus(likes) }

// A list that is read in pages while likes change would repeat notes and lose others. So
// pages are cut out of a ranking, which stays as it was made: every two seconds there is
// a new one, which the first who asks for it makes, for all processes; a cursor names
// the ranking that it belongs to.
const (
	hotInterval   = 2 * time.Second
	maxHot        = 400 // notes in a ranking: what a record may have
	rankingMaxAge = 10 * time.Minute
	rankingTTL    = 12 * time.Minute // lives are shortened by up to a tenth
)

// ranking is the number of the present one.
func (s *Service) ranking() int64 { return s.now().UnixMilli() / hotInterval.Milliseconds() }

// rankedNote is a note's place in a ranking.
type rankedNote struct {
	ID  int64 `json:"i"`
	Hot int64 `json:"h"`
}

// compare orders spots from the hottest on.
func (p rankedNote) compare(o rankedNote) int {
	return cmp.Or(cmp.Compare(o.Hot, p.Hot), cmp.Compare(o.ID, p.ID))
}

// loadRankings makes the ranking of now. Nobody can make an older one, and nobody one
// before its time, which a cursor might name; clocks may differ by a few.
func (s *Service) loadRankings(ctx context.Context, numbers []int64) (map[int64][]rankedNote, error) {
	found := map[int64][]rankedNote{}
	for _, n := range numbers {
		if d := n - s.ranking(); d < -2 || d > 0 {
			continue
		}
		list, err := s.hottest(ctx, nil, maxHot)
		if err != nil {
			return nil, err
		}
		found[n] = list
	}
	return found, nil
}

// hottest reads the hottest notes behind a place, or from the first on.
func (s *Service) hottest(ctx context.Context, behind *rankedNote, limit int) ([]rankedNote, error) {
	q := s.db.NoteCount.Query().Where(notecount.Deleted(false)).
		Order(notecount.ByHot(sql.OrderDesc()), notecount.ByID(sql.OrderDesc())).Limit(limit)
	if behind != nil {
		q.Where(func(sel *sql.Selector) {
			sel.Where(sql.CompositeLT([]string{sel.C(notecount.FieldHot), sel.C(notecount.FieldID)}, behind.Hot, behind.ID))
		})
	}
	rows, err := q.Select(notecount.FieldID, notecount.FieldHot).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select hot notes: %w", err)
	}
	list := make([]rankedNote, len(rows))
	for i, r := range rows {
		list[i] = rankedNote{r.ID, r.Hot}
	}
	return list, nil
}

const hotCursor = "HOT"

// Hot returns a page of the hottest notes. Its first page is at most two seconds old;
// those behind it go on in the same ranking for ten minutes, so that notes neither repeat
// nor get lost whatever is liked meanwhile. Beyond the 400 hottest, or when the ranking is
// gone, they go on by the ranks of now. What is deleted meanwhile is left out.
//
// A page is the ranking, from memory or in one round trip, and its rows.
func (s *Service) Hot(ctx context.Context, first int, after page.Cursor) (*Page, error) {
	ctx, span := observe.Span(ctx, "note.Hot")
	defer span.End()
	if err := page.CheckFirst(first); err != nil {
		return nil, err
	}
	w := hotPage{ranking: s.ranking()}
	if after != "" {
		w.at = new(rankedNote)
		if err := page.Decode(after, hotCursor, &w.ranking, &w.at.Hot, &w.at.ID); err != nil {
			return nil, err
		}
	}
	if err := s.openRanking(ctx, &w); err != nil {
		return nil, fmt.Errorf("list hot notes: %w", err)
	}
	found := make([]*Edge, 0, first+1)
	for len(found) <= first {
		entries, err := s.next(ctx, &w, first+1)
		if err != nil {
			return nil, fmt.Errorf("list hot notes: %w", err)
		}
		if entries == nil {
			break
		}
		ids := make([]int64, len(entries))
		for i, p := range entries {
			ids[i] = p.ID
		}
		rows, err := s.ByIDsVerified(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, p := range entries {
			if n := rows[p.ID]; n != nil {
				found = append(found, &Edge{Cursor: page.Encode(hotCursor, w.ranking, p.Hot, p.ID), Node: n})
			}
		}
	}
	return pageOf(found, first, after, false), nil
}

// hotPage is where a reader has come.
type hotPage struct {
	ranking int64
	list    []rankedNote // of the ranking
	at      *rankedNote  // the last place seen; nil at the beginning
	done    bool         // the list is, and there is nothing behind it
}

// openRanking fetches the ranking. One that is gone, or that nobody can have made, is
// replaced by the ranks of now: nothing of it is asked for, lest made-up numbers fill the
// cache.
func (s *Service) openRanking(ctx context.Context, w *hotPage) error {
	if age := s.ranking() - w.ranking; age < -2 || age > rankingMaxAge.Milliseconds()/hotInterval.Milliseconds() {
		return nil
	}
	list, err := s.hot.Get(ctx, w.ranking)
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	w.list = list
	w.done = err == nil && len(list) < maxHot
	return nil
}

// next returns the next places: of the ranking, and what lies behind it as it is now. It
// returns nil at the end.
func (s *Service) next(ctx context.Context, w *hotPage, limit int) ([]rankedNote, error) {
	begin := slices.IndexFunc(w.list, func(p rankedNote) bool { return w.at == nil || w.at.compare(p) < 0 })
	if begin >= 0 {
		part := w.list[begin:min(begin+limit, len(w.list))]
		w.at = &part[len(part)-1]
		return part, nil
	}
	if w.done {
		return nil, nil
	}
	part, err := s.hottest(ctx, w.at, limit)
	if err != nil || len(part) == 0 {
		return nil, err
	}
	w.at, w.done = &part[len(part)-1], len(part) < limit
	// What the ranking had was shown already. There may be nothing else among these.
	return slices.DeleteFunc(part, func(p rankedNote) bool {
		return slices.ContainsFunc(w.list, func(o rankedNote) bool { return o.ID == p.ID })
	}), nil
}
