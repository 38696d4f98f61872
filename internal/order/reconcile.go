package order

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

const (
	compareEvery = 10 * time.Second
	compareLists = 100         // after which a run goes no further: 600 lists a minute, some more
	compareSteps = 20          // of a walk over Redis, each some hundred keys, of one run
	compareYoung = time.Minute // orders younger than that may be on their way into a list
)

// Jobs are what is due every so often.
//
// order.lists walks over the lists in Redis and compares them with the database, slowly,
// over and over. A list that is not what the rows say is dropped, for its next reader to
// rebuild. It is the net beneath the outbox: for a Redis that came back with old lists, and
// for flaws. Each process has a walk of its own and goes on with it when it has the turn:
// none reads faster for it, nor are lists kept for longer.
//
// order.digests clears the digests of clients' keys that are older than a day.
func (s *Service) Jobs() []schedule.Job {
	var at cache.ScanCursor
	compare := func(ctx context.Context) (err error) {
		at, err = s.compareSome(ctx, s.db, at)
		return err
	}
	return []schedule.Job{
		{Name: "order.lists", Every: compareEvery, RetryAfter: compareEvery, Do: compare},
		{Name: "order.digests", Every: digestEvery, Do: s.clearDigests},
	}
}

// compareSome is one run, from a place of the walk to the next.
func (s *Service) compareSome(ctx context.Context, db *ent.Client, at cache.ScanCursor) (cache.ScanCursor, error) {
	seen := 0
	for range compareSteps {
		kept, next, err := s.lists.window.Scan(ctx, at, parseDecimal)
		if err != nil {
			return at, fmt.Errorf("walk over order lists: %w", err)
		}
		for _, one := range kept {
			if err := s.compare(ctx, db, one); err != nil {
				return at, err
			}
		}
		at, seen = next, seen+len(kept)
		if seen >= compareLists || at == (cache.ScanCursor{}) {
			break
		}
	}
	return at, nil
}

// compare drops a list that is not what the rows say.
func (s *Service) compare(ctx context.Context, db *ent.Client, kept cache.WindowSnapshot[int64]) error {
	flaw, err := s.flawOf(ctx, db, kept)
	if err != nil {
		return err
	}
	if flaw == "" {
		s.lists.metrics.compared.WithLabelValues("right").Inc()
		return nil
	}
	s.lists.metrics.compared.WithLabelValues("wrong").Inc()
	s.metrics.failed(ctx, "list-compare", fmt.Errorf("the list of user %d was wrong, and is dropped: %s", kept.Key, flaw))
	return s.dropList(ctx, kept.Key)
}

func (s *Service) dropList(ctx context.Context, user int64) error {
	if err := s.lists.window.Invalidate(ctx, user); err != nil {
		return fmt.Errorf("drop the wrong list of user %d: %w", user, err)
	}
	return nil
}

// flawOf says what is wrong with a list, "" for nothing: ids, order and marker are
// compared. Where an order is so young that it may be on its way into the list, the next
// who compares will see.
func (s *Service) flawOf(ctx context.Context, db *ent.Client, kept cache.WindowSnapshot[int64]) (string, error) {
	n := len(kept.Entries)
	want, err := newestPlaces(ctx, db, kept.Key, n+1)
	if err != nil {
		return "", err
	}
	young := s.now().Add(-compareYoung).UnixMilli()
	isYoung := func(e cache.Entry) bool { return e.Score > young }
	if slices.ContainsFunc(want, isYoung) || slices.ContainsFunc(kept.Entries, isYoung) {
		return "", nil
	}
	if !kept.Whole {
		want = want[:min(len(want), n)]
	}
	i := 0
	for i < n && i < len(want) && kept.Entries[i] == want[i] {
		i++
	}
	switch {
	case i == n && i == len(want):
		return "", nil
	case i == n:
		return fmt.Sprintf("it ends before order %s, and says that it is whole", want[i].Member), nil
	case i == len(want):
		return fmt.Sprintf("it has order %s, and there are no more than %d", kept.Entries[i].Member, i), nil
	}
	return fmt.Sprintf("in place %d it has order %s, and should have %s", i+1, kept.Entries[i].Member, want[i].Member), nil
}
