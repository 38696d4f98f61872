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

// tenfold is the age that compensates ten times as many likes.
//
// The hot rank combines likes and age. Likes alone would rank old notes first forever, age
// alone would list the newest notes. One like is added, so that the first one counts. The
// rank is a time that grows with likes and does not depend on the current time. So an index
// contains it, it is the same for all readers, and only likes change it. Reddit ranked
// stories in this way; A. Salihefendic described it in 2010.
const tenfold = 7 * 24 * time.Hour

// bonus returns the milliseconds that likes add to the rank.
func bonus(likes int) int64 {
	return int64(math.Round(float64(tenfold.Milliseconds()) * math.Log10(1+float64(max(likes, 0)))))
}

// hotRank returns the rank of a note in milliseconds since 1970: the creation time of a
// note without likes that ranks the same.
func hotRank(createdMs int64, likes int) int64 { return createdMs + bonus(likes) }

// Pages of a list that changes with every like would repeat and skip notes. So they are
// read from an immutable ranking. The first request in each interval creates one, for all
// processes. A cursor names its ranking.
const (
	hotInterval   = 2 * time.Second
	maxHot        = 400 // notes in a ranking, limited by the size of a cache record
	rankingMaxAge = 10 * time.Minute
	rankingTTL    = 12 * time.Minute // the cache shortens TTLs by up to a tenth
)

// ranking returns the number of the current ranking.
func (s *Service) ranking() int64 { return s.now().UnixMilli() / hotInterval.Milliseconds() }

type rankedNote struct {
	ID  int64 `json:"i"`
	Hot int64 `json:"h"`
}

// compare sorts the hottest notes first.
func (p rankedNote) compare(o rankedNote) int {
	return cmp.Or(cmp.Compare(o.Hot, p.Hot), cmp.Compare(o.ID, p.ID))
}

// loadRankings creates the current ranking. For processes with slow clocks, it accepts the two
// numbers before. It ignores all others: a new ranking would not continue the pages of an older
// one.
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

// hottest reads the hottest notes after an entry, or from the start if behind is nil.
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

// Hot returns a page of the hottest notes. The first page is at most two seconds old. The
// next ones read the same ranking for ten minutes, so likes neither repeat nor skip notes.
// After the 400 hottest notes, or if the ranking has expired, pages use the current ranks.
// Deleted notes are omitted.
//
// A page needs the ranking, from memory or in one round trip, and its rows.
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

// hotPage is the state of one call of [Service.Hot].
type hotPage struct {
	ranking int64
	list    []rankedNote // of the ranking
	at      *rankedNote  // last entry read; nil at the start
	done    bool         // no entries follow the list
}

// openRanking loads the ranking. It does not read expired and invented numbers, so they cannot fill
// the cache: the reader then uses the current ranks.
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

// next returns the next entries: first of the ranking, then by current rank; nil at the end.
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
	// Omit notes of the ranking, which were shown already. The rest may be empty.
	return slices.DeleteFunc(part, func(p rankedNote) bool {
		return slices.ContainsFunc(w.list, func(o rankedNote) bool { return o.ID == p.ID })
	}), nil
}
