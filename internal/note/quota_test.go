package note

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// limit sets an hourly limit for old accounts.
func (p *process) limit(rdb redis.UniversalClient, perHour int) {
	p.quota = quota.NewSet(quota.Config{
		Redis: rdb, Prefix: storetest.Prefix, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		CreatedAt: func(context.Context, int64) (time.Time, error) { return time.Time{}, nil },
	}).Limit("notes", perHour)
}

func TestRejectedNotesUseNoQuota(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		p := open(t, on)
		ann := p.user(t)
		p.limit(from.Redis, 2)
		bad := []Draft{
			{ShopID: teahouse, Title: "", Content: "Good."},                                    // found before the quota check
			{ShopID: 404, Title: "Tea", Content: "Good."},                                      // found during the quota check
			{ShopID: teahouse, Title: "Tea", Content: "Good.", Images: []string{"/elsewhere"}}, // found during the quota check
		}
		for _, d := range bad {
			for range 3 {
				if _, err := p.Publish(t.Context(), ann, d); err == nil || reached(err) {
					t.Fatalf("%+v: %v", d, err)
				}
			}
		}
		p.fakes.failsFor = ann // fails the transaction
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Tea", Content: "Good."}); !errors.Is(err, errFails) {
			t.Fatal(err)
		}
		p.fakes.failsFor = 0
		p.publish(t, ann, "One")
		p.publish(t, ann, "Two")
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Three", Content: "Good."}); !reached(err) {
			t.Errorf("third note: got %v, want a limit error", err)
		}
		if n := p.db.Note.Query().CountX(t.Context()); n != 2 {
			t.Errorf("got %d notes, want 2", n)
		}
	})
}

func reached(err error) bool {
	why, ok := errors.AsType[apierror.UserErrors](err)
	return ok && why[0].Code == quota.LimitReached && why[0].RetryAfter > 0
}

// The quota check must not add a round trip: it runs while the shop is read.
func TestNoteLimitRunsDuringReads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		p := open(t, on)
		ann := p.user(t)
		p.limit(from.Redis, 10)
		counting, reading := make(chan struct{}), make(chan struct{})
		from.Redis.AddHook(&atScripts{func() { close(counting); <-reading }})
		p.shops = &hookedShops{fakes: p.fakes, onRead: func() { close(reading); <-counting }}
		p.publish(t, ann, "Tea") // blocks if they run in sequence
	})
}

func TestNoteLimitCostsOneCommand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		from := storetest.Open(t, on)
		from.Redis.AddHook(p.wire)
		ann := p.user(t)
		cost := func() int64 {
			before := p.wire.Trips.Load()
			p.publish(t, ann, "Tea")
			return p.wire.Trips.Load() - before
		}
		cost()
		without := cost()
		p.limit(from.Redis, 100)
		cost() // loads the script
		if with := cost(); with != without+1 {
			t.Errorf("got %d round trips, want %d", with, without+1)
		}
	})
}

// hookedShops runs a function before the first shop is read.
type hookedShops struct {
	*fakes
	once   sync.Once
	onRead func()
}

func (m *hookedShops) OwnerOf(ctx context.Context, id int64) (*int64, bool, error) {
	m.once.Do(m.onRead)
	return m.fakes.OwnerOf(ctx, id)
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
