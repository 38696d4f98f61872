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

// An authorTimeline is the outbox of a celebrity: the newest notes of one author as of a log
// number. The log tail has later notes. So a cached timeline is never too old, and nothing
// invalidates it.
type authorTimeline struct {
	AsOf    int64      `json:"as_of"`
	Entries [][2]int64 `json:"spots"` // number and note, newest first; complete if fewer than OutboxSize
}

// floor returns the number from which the timeline is complete, 0 if it has all notes.
func (o authorTimeline) floor(size int) int64 {
	if len(o.Entries) < size {
		return 0
	}
	return o.Entries[len(o.Entries)-1][0]
}

func (s *Service) openTimelineCache(hub *cache.Client) {
	s.timelineCache = cache.New(hub, cache.Policy{
		// Pages of millions of readers share a few timelines. They only expire, see authorTimeline.
		Name: "feed-out", TTL: 15 * time.Second, StaleTTL: 15 * time.Second, Beta: 1,
		MaxBytes: max(16<<10, 64+48*s.cfg.OutboxSize),
		Local:    cache.Local{Share: 0.02, Criteria: cache.Hot | cache.Small | cache.MayBeStale},
	}, cache.Source[int64, authorTimeline]{Key: decimal, Load: s.loadTimelines, Parse: parseDecimal})
}

// loadTimelines reads the log head before the notes. Notes published in between are in both the
// timeline and the log tail.
func (s *Service) loadTimelines(ctx context.Context, authors []int64) (map[int64]authorTimeline, error) {
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

// timelines returns the timelines of celebrities, each as of a number that the log tail covers.
func (s *Service) timelines(ctx context.Context, celebrities []int64) (map[int64]authorTimeline, error) {
	if len(celebrities) == 0 {
		return nil, nil
	}
	found, err := s.timelineCache.GetMany(ctx, celebrities)
	if err != nil {
		return nil, fmt.Errorf("read outboxes of %d celebrities: %w", len(celebrities), err)
	}
	var old []int64
	for _, celebrity := range celebrities {
		if o, ok := found[celebrity]; !ok || !s.tail.covers(o.AsOf) {
			old = append(old, celebrity)
		}
	}
	if len(old) == 0 {
		return found, nil
	}
	fresh, err := s.loadTimelines(ctx, old)
	maps.Copy(found, fresh)
	return found, err
}

// celebrityCache maps users to the celebrities that they follow. An entry is valid while the
// user's followees are unchanged. It is safe for concurrent use.
type celebrityCache struct {
	mu         sync.Mutex
	young, old map[int64]followedCelebrities // generations: a full young one replaces old
}

const generationSize = 50_000 // users per generation of a celebrityCache

type followedCelebrities struct {
	sources cache.SourceSet // followees of the user
	known   int             // length of [logTail.celebrities] at that time
	ids     []int64
}

func (f *celebrityCache) get(user int64) (followedCelebrities, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cached, ok := f.young[user]
	if !ok {
		cached, ok = f.old[user]
	}
	return cached, ok
}

func (f *celebrityCache) put(user int64, cached followedCelebrities) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.young == nil || len(f.young) >= generationSize {
		f.young, f.old = map[int64]followedCelebrities{}, f.young
	}
	f.young[user] = cached
}

// sourceNames returns the members of authors in the window of followees.
func sourceNames(authors []int64) []string {
	list := make([]string, len(authors))
	for i, author := range authors {
		list[i] = decimal(author)
	}
	return list
}

func filterFollowed(authors []int64, has map[string]bool) []int64 {
	return slices.DeleteFunc(slices.Clone(authors), func(author int64) bool { return !has[decimal(author)] })
}
