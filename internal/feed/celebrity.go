package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

// An authorTimeline is the outbox of a star: the author's newest notes as of a number. What was
// published behind that number is in the tail, so an outbox that is cached for a while, in
// any memory, is never too old: nobody has to be told of anything.
type authorTimeline struct {
	AsOf    int64      `json:"as_of"`
	Entries [][2]int64 `json:"spots"` // number and note, newest first; fewer than fit are all
}

// floor is the number from which on the outbox has everything, 0 if it has all.
func (o authorTimeline) floor(size int) int64 {
	if len(o.Entries) < size {
		return 0
	}
	return o.Entries[len(o.Entries)-1][0]
}

func (s *Service) openOutboxes(hub *cache.Client) {
	s.outs = cache.New(hub, cache.Policy{
		// Every page of millions reads the same few. They end by themselves alone.
		Name: "feed-out", TTL: 15 * time.Second, StaleTTL: 15 * time.Second, Beta: 1,
		MaxBytes: max(16<<10, 64+48*s.cfg.OutboxSize),
		Local:    cache.Local{Share: 0.02, Criteria: cache.Hot | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, authorTimeline]{Key: decimal, Load: s.loadOutboxes, Parse: parseDecimal})
}

// loadOutboxes reads the head of the feed before the notes: what came between is in the
// outbox and in the tail.
func (s *Service) loadOutboxes(ctx context.Context, authors []int64) (map[int64]authorTimeline, error) {
	head, err := s.tail.log.head(ctx)
	if err != nil {
		return nil, err
	}
	lists, err := s.cfg.Notes.Newest(ctx, authors, s.cfg.OutboxSize)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]authorTimeline, len(authors))
	for _, author := range authors {
		o := authorTimeline{AsOf: head, Entries: make([][2]int64, len(lists[author]))}
		for i, at := range lists[author] {
			o.Entries[i] = [2]int64{at.Pos, at.ID}
		}
		found[author] = o
	}
	return found, nil
}

// outboxes returns the outboxes of stars, each as of a number that the tail goes back to.
func (s *Service) outboxes(ctx context.Context, stars []int64) (map[int64]authorTimeline, error) {
	if len(stars) == 0 {
		return nil, nil
	}
	found, err := s.outs.GetMany(ctx, stars)
	if err != nil {
		return nil, fmt.Errorf("read the outboxes of %d stars: %w", len(stars), err)
	}
	var old []int64
	for _, star := range stars {
		if o, ok := found[star]; !ok || !s.tail.covers(o.AsOf) {
			old = append(old, star)
		}
	}
	if len(old) == 0 {
		return found, nil
	}
	fresh, err := s.loadOutboxes(ctx, old)
	maps.Copy(found, fresh)
	return found, err
}

// celebrityCache remembers which stars users follow, for as long as they follow the same
// people. It is safe for concurrent use.
type celebrityCache struct {
	mu         sync.Mutex
	young, old map[int64]followedCelebrities // two generations: when one is full the older one goes
}

// generation is how many users one generation of followedStars has.
const generation = 50_000

type followedCelebrities struct {
	of    cache.SourceSet // whom the user follows
	known int             // how many stars there were then, of [logTail.stars]
	stars []int64
}

func (f *celebrityCache) get(user int64) (followedCelebrities, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, ok := f.young[user]
	if !ok {
		kept, ok = f.old[user]
	}
	return kept, ok
}

func (f *celebrityCache) put(user int64, kept followedCelebrities) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.young == nil || len(f.young) >= generation {
		f.young, f.old = map[int64]followedCelebrities{}, f.young
	}
	f.young[user] = kept
}

// names of authors, as the window of followees has them.
func names(authors []int64) []string {
	list := make([]string, len(authors))
	for i, author := range authors {
		list[i] = decimal(author)
	}
	return list
}

// those of the authors that a page of an inbox says are followed.
func those(authors []int64, has map[string]bool) []int64 {
	return slices.DeleteFunc(slices.Clone(authors), func(author int64) bool { return !has[decimal(author)] })
}
