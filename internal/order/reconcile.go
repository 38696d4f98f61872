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
	compareEvery  = 10 * time.Second
	compareLists  = 100         // minimum lists per full run: about 600 a minute
	compareSteps  = 20          // maximum scan steps per run, each of some hundred keys
	minCompareAge = time.Minute // younger orders may not be in a list yet
)

// Jobs returns the scheduled jobs.
//
// order.lists compares the lists in Redis with the database, at a low rate. It drops a list that
// differs from the rows; the next reader rebuilds it. It covers cases that the outbox misses: a
// Redis with old lists, and bugs. Each process resumes its own scan when it runs the job. Its reads
// neither fill caches nor extend the TTL of lists.
//
// order.digests clears the digests of idempotency keys that are older than a day.
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

// compareSome is one run. It returns the cursor for the next run.
func (s *Service) compareSome(ctx context.Context, db *ent.Client, at cache.ScanCursor) (cache.ScanCursor, error) {
	seen := 0
	for range compareSteps {
		cached, next, err := s.lists.window.Scan(ctx, at, parseDecimal)
		if err != nil {
			return at, fmt.Errorf("scan order lists: %w", err)
		}
		for _, one := range cached {
			if err := s.compare(ctx, db, one); err != nil {
				return at, err
			}
		}
		at, seen = next, seen+len(cached)
		if seen >= compareLists || at == (cache.ScanCursor{}) {
			break
		}
	}
	return at, nil
}

// compare drops a list that differs from the rows.
func (s *Service) compare(ctx context.Context, db *ent.Client, cached cache.WindowSnapshot[int64]) error {
	flaw, err := s.flawOf(ctx, db, cached)
	if err != nil {
		return err
	}
	if flaw == "" {
		s.lists.metrics.compared.WithLabelValues("right").Inc()
		return nil
	}
	s.lists.metrics.compared.WithLabelValues("wrong").Inc()
	s.metrics.failed(ctx, "list-compare", fmt.Errorf("compare list of user %d: dropped, %s", cached.Key, flaw))
	return s.dropList(ctx, cached.Key)
}

func (s *Service) dropList(ctx context.Context, user int64) error {
	if err := s.lists.window.Invalidate(ctx, user); err != nil {
		return fmt.Errorf("drop list of user %d: %w", user, err)
	}
	return nil
}

// flawOf describes how a list differs from the rows, or returns "". It compares ids, order and
// marker. It skips lists with an order that is too young to be in the list for certain.
func (s *Service) flawOf(ctx context.Context, db *ent.Client, cached cache.WindowSnapshot[int64]) (string, error) {
	n := len(cached.Entries)
	want, err := newestKeys(ctx, db, cached.Key, n+1)
	if err != nil {
		return "", err
	}
	young := s.now().Add(-minCompareAge).UnixMilli()
	isYoung := func(e cache.Entry) bool { return e.Score > young }
	if slices.ContainsFunc(want, isYoung) || slices.ContainsFunc(cached.Entries, isYoung) {
		return "", nil
	}
	if !cached.Whole {
		want = want[:min(len(want), n)]
	}
	i := 0
	for i < n && i < len(want) && cached.Entries[i] == want[i] {
		i++
	}
	switch {
	case i == n && i == len(want):
		return "", nil
	case i == n:
		return fmt.Sprintf("ends before order %s but is marked complete", want[i].Member), nil
	case i == len(want):
		return fmt.Sprintf("has order %s after all %d orders", cached.Entries[i].Member, i), nil
	}
	return fmt.Sprintf("has order %s at position %d, want %s", cached.Entries[i].Member, i+1, want[i].Member), nil
}
