package comment

import (
	"context"
	"fmt"
	"strconv"
	"time"

	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// headSize is how many places of each list are cached: several first pages.
const headSize = 50

// openCaches says how each kind is cached. What a write does to them stands in
// invalidate.go.
//
// Nothing is kept in the process: who wrote or liked wants to see it, and a comment that
// everybody reads is one that is liked all the time.
func (s *Service) openCaches(hub *cache.Client) {
	s.comments = cache.New(hub, cache.Policy{
		// That there is no such comment is not kept: a list has the id of a new one as soon
		// as it is committed, and its row must be found then, whether its insert was told or
		// not. Who asks for made-up ids is slowed down where he asks.
		Name: "comment", TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1, NegativeTTL: -1,
	}, cache.Source[int64, Comment]{
		Key: decimal, Load: s.load, Parse: parseDecimal,
		Version: func(c Comment) int64 { return c.Version },
	})
	list := func(name string) cache.Policy {
		return cache.Policy{Name: name, TTL: 30 * time.Minute, StaleTTL: 10 * time.Minute, Beta: 1}
	}
	s.onNotes = cache.NewFirstPages(hub, list("note-comments"), headSize, cache.HeadSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadOnNotes})
	s.replies = cache.NewFirstPages(hub, list("comment-replies"), headSize, cache.HeadSource[int64]{Key: decimal, Parse: parseDecimal, Load: s.loadReplies})
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
