package order

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

const (
	compareEvery = 10 * time.Second
	compareLists = 100         // after which a run goes no further: 600 lists a minute, some more
	compareSteps = 20          // of a walk over Redis, each some hundred keys, of one run
	compareYoung = time.Minute // orders younger than that may be on their way into a list
	compareLimit = 10 * time.Second
)

// CompareLists walks over the lists in Redis and compares them with the database,
// slowly, over and over, until ctx ends; then it returns nil. A list that is not what
// the rows say is dropped, for its next reader to rebuild. It is the net beneath the
// outbox: for a Redis that came back with old lists, and for flaws.
//
// In any number of processes one compares at a time. None reads faster for it, nor
// are lists kept for longer.
func (s *Service) CompareLists(ctx context.Context) error {
	var at cache.Place
	for clock.Sleep(ctx, compareEvery) == nil {
		next, err := s.compareSome(context.WithoutCancel(ctx), at)
		if err != nil {
			s.metrics.failed(ctx, "list-compare", err)
		}
		at = next
	}
	return nil
}

// compareSome is one run, from a place of the walk to the next.
func (s *Service) compareSome(ctx context.Context, at cache.Place) (cache.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, compareLimit)
	defer cancel()
	if s.dialect != dialect.Postgres { // there is one process
		return s.compareFrom(ctx, s.db, at)
	}
	next := at
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		alone, err := store.Alone(ctx, tx, "order-lists:"+s.cfg.Prefix)
		if err == nil && alone {
			next, err = s.compareFrom(ctx, tx.Client(), at)
		}
		return err
	})
	return next, err
}

func (s *Service) compareFrom(ctx context.Context, db *ent.Client, at cache.Place) (cache.Place, error) {
	seen := 0
	for range compareSteps {
		kept, next, err := s.lists.window.Walk(ctx, at, parseDecimal)
		if err != nil {
			return at, fmt.Errorf("walk over order lists: %w", err)
		}
		for _, one := range kept {
			if err := s.compare(ctx, db, one); err != nil {
				return at, err
			}
		}
		at, seen = next, seen+len(kept)
		if seen >= compareLists || at == (cache.Place{}) {
			break
		}
	}
	return at, nil
}

// compare drops a list that is not what the rows say.
func (s *Service) compare(ctx context.Context, db *ent.Client, kept cache.Kept[int64]) error {
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
func (s *Service) flawOf(ctx context.Context, db *ent.Client, kept cache.Kept[int64]) (string, error) {
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
