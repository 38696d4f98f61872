package like

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// limitOf returns a limit for old accounts.
func limitOf(p *process, perHour int) *quota.Limit {
	return quota.NewSet(quota.Config{
		Redis: p.from.Redis, Prefix: storetest.Prefix, Registerer: prometheus.NewRegistry(), Log: p.from.Log,
		CreatedAt: func(context.Context, int64) (time.Time, error) { return time.Time{}, nil },
	}).Limit("likes", perHour)
}

func limited(err error) bool {
	why, ok := errors.AsType[apierror.UserErrors](err)
	return ok && why[0].Code == quota.LimitReached
}

func TestOnlyChangesCountAgainstTheLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			user := map[Kind]int64{Note: ann, Comment: bob}[s.kind]
			s.quota = limitOf(p, 3)
			if err := s.Like(t.Context(), user, 404); err == nil || limited(err) { // missing target
				t.Fatal(err)
			}
			like(t, s, 1, user)
			for range 5 { // no change
				like(t, s, 1, user)
				unlike(t, s, 2, user)
			}
			unlike(t, s, 1, user)
			like(t, s, 2, user)
			if err := errors.Join(s.Like(t.Context(), user, 2), s.Unlike(t.Context(), user, 3)); err != nil {
				t.Errorf("call without a change, above the limit: %v", err)
			}
			for _, change := range []error{s.Like(t.Context(), user, 3), s.Unlike(t.Context(), user, 2)} {
				if !limited(change) {
					t.Errorf("fourth change: got %v, want a limit error", change)
				}
			}
			if n := r.count(t, 3); n != 0 {
				t.Errorf("rejected like: got count %d, want 0", n)
			}
			if err := s.Like(t.Context(), cid, 3); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	})
}

// A limit adds one command and no statement.
func TestLikeLimitCostsOneCommand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3, 4)
		cost := func(id int64) (trips, statements int) {
			return p.from.CountCalls(t, p.wire, func() { like(t, p.notes, id, ann) })
		}
		cost(1) // loads the scripts
		trips, statements := cost(2)
		p.notes.quota = limitOf(p, 100)
		cost(3)
		more, same := cost(4)
		if more != trips+1 || same != statements {
			t.Errorf("got %d trips and %d statements, want %d and %d", more, same, trips+1, statements)
		}
	})
}

// The quota check must not add a round trip: it runs while the transaction begins, and neither
// waits for the other.
func TestLikeLimitRunsDuringTransactionStart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		began, counting := make(chan struct{}), make(chan struct{})
		p.from.Redis.AddHook(&atScripts{func() { close(counting); <-began }})
		p.comments.db = p.from.AtFirstTx(nil, func() { <-counting; close(began) })
		p.comments.quota = limitOf(p, 100)
		like(t, p.comments, 1, ann) // blocks if they run in sequence
	})
}

// atScripts runs a function before the first script of a client.
type atScripts struct{ run func() }

func (*atScripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *atScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	var once sync.Once
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			once.Do(h.run)
		}
		return next(ctx, cmd)
	}
}

func (*atScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
