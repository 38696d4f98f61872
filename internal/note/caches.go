package note

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// headSize is the number of notes in a cached list.
const headSize = 50

func (s *Service) openCaches(hub *cache.Client) {
	s.notes = cache.New(hub, cache.Policy{
		Name: "note", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: time.Minute, StaleIfError: 10 * time.Minute,
		// A note changes only when it is deleted or loses a picture; a short delay is harmless.
		Local: cache.Local{Share: 0.1, Criteria: cache.Hot | cache.RarelyChanged | cache.MayBeStale},
	}, cache.Source[int64, Note]{Key: decimal, Load: s.load, All: s.all, Parse: parseDecimal})
	s.counts = cache.New(hub, cache.Policy{
		// Each like changes the counts, so memory does not hold them.
		Name: "note-count", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: -1,
	}, cache.Source[int64, Counts]{Key: decimal, Load: s.loadCounts, Parse: parseDecimal, Version: func(c Counts) int64 { return c.Version }})
	lists := cache.Policy{
		TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, StaleIfError: 10 * time.Minute,
		Local: cache.Local{Share: 0.02, Criteria: cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}
	lists.Name = "author-notes"
	s.byAuthor = cache.NewFirstPages(hub, lists, headSize, cache.FirstPagesSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.lister(s.sql.byAuthors)})
	lists.Name = "shop-notes"
	s.byShop = cache.NewFirstPages(hub, lists, headSize, cache.FirstPagesSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.lister(s.sql.byShops)})
	s.hot = cache.New(hub, cache.Policy{
		// Rankings are immutable. Every visitor reads the current one.
		Name: "hot-notes", TTL: rankingTTL, NegativeTTL: hotInterval, StaleIfError: rankingMaxAge,
		Local: cache.Local{Share: 0.02, Criteria: cache.Hot | cache.RarelyChanged | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, []rankedNote]{Key: decimal, Load: s.loadRankings, Parse: parseDecimal, Ephemeral: true})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) load(ctx context.Context, ids []int64) (map[int64]Note, error) {
	found := make(map[int64]Note, len(ids))
	scan := ent.Scanner[ent.Note]()
	err := s.sql.notes.Each(ctx, s.db, ids, func(rows *sql.Rows) error {
		r, err := scan(rows)
		if err != nil {
			return err
		}
		n, err := fromRow(r)
		found[r.ID] = *n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select %d notes: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) all(ctx context.Context) iter.Seq2[int64, error] {
	return ent.AllIDs(func(after int64, limit int) ([]int64, error) {
		return s.db.Note.Query().Where(entnote.IDGT(after), entnote.DeletedAtIsNil()).Order(entnote.ByID()).Limit(limit).IDs(ctx)
	})
}

func (s *Service) loadCounts(ctx context.Context, ids []int64) (map[int64]Counts, error) {
	found := make(map[int64]Counts, len(ids))
	err := s.sql.hasComments.Each(ctx, s.db, ids, func(rows *sql.Rows) error {
		id, c, err := readCounts(rows)
		found[id] = c
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select the counts of %d notes: %w", len(ids), err)
	}
	return found, nil
}
