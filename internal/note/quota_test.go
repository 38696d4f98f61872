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

// limit gives a process an hourly limit for accounts that are old enough.
func (p *process) limit(rdb redis.UniversalClient, perHour int) {
	p.quota = quota.NewSet(quota.Config{
		Redis: rdb, Prefix: storetest.Prefix, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		CreatedAt: func(context.Context, int64) (time.Time, error) { return time.Time{}, nil },
	}).Limit("notes", perHour)
}

func TestRefusedNotesDoNotCount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		p := open(t, on)
		ann := p.user(t)
		p.limit(from.Redis, 2)
		bad := []Draft{
			{ShopID: teahouse, Title: "", Content: "Good."},                                    // found before the count
			{ShopID: 404, Title: "Tea", Content: "Good."},                                      // found while it is counted
			{ShopID: teahouse, Title: "Tea", Content: "Good.", Images: []string{"/elsewhere"}}, // found while it is counted
		}
		for _, d := range bad {
			for range 3 {
				if _, err := p.Publish(t.Context(), ann, d); err == nil || reached(err) {
					t.Fatalf("%+v: %v", d, err)
				}
			}
		}
		p.others.fails = ann // of the transaction
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Tea", Content: "Good."}); !errors.Is(err, errFails) {
			t.Fatal(err)
		}
		p.others.fails = 0
		p.publish(t, ann, "One")
		p.publish(t, ann, "Two")
		if _, err := p.Publish(t.Context(), ann, Draft{ShopID: teahouse, Title: "Three", Content: "Good."}); !reached(err) {
			t.Errorf("the third note: %v", err)
		}
		if n := p.db.Note.Query().CountX(t.Context()); n != 2 {
			t.Errorf("%d notes are stored, want 2", n)
		}
	})
}

func reached(err error) bool {
	why, ok := errors.AsType[apierror.UserErrors](err)
	return ok && why[0].Code == quota.LimitReached && why[0].RetryAfter > 0
}

// The count must not be a round trip of its own: it is under way while the shop is read.
func TestTheCountRunsDuringTheReads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		from := storetest.Open(t, on)
		p := open(t, on)
		ann := p.user(t)
		p.limit(from.Redis, 10)
		counting, reading := make(chan struct{}), make(chan struct{})
		from.Redis.AddHook(&atScripts{func() { close(counting); <-reading }})
		p.shops = &meeting{others: p.others, met: func() { close(reading); <-counting }}
		p.publish(t, ann, "Tea") // waits forever if one is after the other
	})
}

func TestALimitCostsAPublishOneCommand(t *testing.T) {
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
		cost() // the script is loaded
		if with := cost(); with != without+1 {
			t.Errorf("%d round trips, want %d", with, without+1)
		}
	})
}

// meeting is shops that run a function when the first one is read.
type meeting struct {
	*others
	once sync.Once
	met  func()
}

func (m *meeting) OwnerOf(ctx context.Context, id int64) (*int64, bool, error) {
	m.once.Do(m.met)
	return m.others.OwnerOf(ctx, id)
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
