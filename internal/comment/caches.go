package comment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// headSize is the number of cached entries of each list: several first pages.
const headSize = 50

// openCaches opens caches that memory does not hold: authors and likers must see their own changes,
// and popular comments get likes all the time.
func (s *Service) openCaches(hub *cache.Client) {
	s.comments = cache.New(hub, cache.Policy{
		// Absence is not cached: a list contains a new id right after the commit, and its row
		// must be found then. The GraphQL server throttles requests for invented ids.
		Name: "comment", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: -1,
	}, cache.Source[int64, Comment]{
		Key: decimal, Load: s.load, Parse: parseDecimal,
		Version: func(c Comment) int64 { return c.Version },
	})
	list := func(name string) cache.Policy {
		return cache.Policy{Name: name, TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1}
	}
	s.onNotes = cache.NewFirstPages(hub, list("note-comments"), headSize, cache.FirstPagesSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadOnNotes})
	s.replies = cache.NewFirstPages(hub, list("comment-replies"), headSize, cache.FirstPagesSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadReplies})
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (s *Service) load(ctx context.Context, ids []int64) (map[int64]Comment, error) {
	rows, err := s.db.Comment.Query().Where(entcomment.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d comments: %w", len(ids), err)
	}
	found := make(map[int64]Comment, len(rows))
	for _, r := range rows {
		found[r.ID] = *fromRow(r)
	}
	return found, nil
}
