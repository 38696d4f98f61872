package rating

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// limitTo sets an hourly limit for old accounts.
func (p *process) limitTo(perHour int) {
	p.quota = quota.NewSet(quota.Config{
		Redis: p.from.Redis, Prefix: storetest.Prefix, Registerer: prometheus.NewRegistry(), Log: p.from.Log,
		CreatedAt: func(context.Context, int64) (time.Time, error) { return time.Time{}, nil },
	}).Limit("ratings", perHour)
}

// wantUses checks the number of a user's uses of a limit, and uses up the rest.
func (p *process) wantUses(t *testing.T, user int64, limit, want int) {
	t.Helper()
	left := 0
	for p.quota.Take(t.Context(), user).Wait() == nil {
		left++
	}
	if left != limit-want {
		t.Errorf("user %d: got %d uses of the limit, want %d", user, limit-left, want)
	}
}

func TestOnlyChangesCountAgainstTheLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 3)
		p.limitTo(3)
		for _, d := range []Draft{{ShopID: 404, Stars: 5}, {ShopID: 1, Stars: 9}} {
			if _, err := p.Rate(t.Context(), ann, d); err == nil {
				t.Fatal("not refused")
			}
		}
		p.rate(t, ann, 1, 4)
		for range 5 { // no change
			p.rate(t, ann, 1, 4)
			p.remove(t, ann, 2)
		}
		p.rate(t, ann, 1, 5)
		p.remove(t, ann, 1)
		p.rate(t, bob, 1, 4) // another user
		_, err := p.Rate(t.Context(), ann, Draft{ShopID: 2, Stars: 5})
		wantRefused(t, "fourth change", err, "LIMIT_REACHED")
		p.remove(t, ann, 3)
		p.rate(t, bob, 1, 4)
		wantRefused(t, "fourth change", p.Delete(t.Context(), bob, 1)) // the second of Bob
		p.agree(t, 1)
		p.agree(t, 2)
		p.wantUses(t, bob, 3, 2)
	})
}

func TestFailedRatingsUseNoQuota(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertShops(t, 1)
		p.limitTo(4)
		p.shops.fail(context.DeadlineExceeded)
		if _, err := p.Rate(t.Context(), ann, Draft{ShopID: 1, Stars: 5}); err == nil {
			t.Fatal("invalid test: no error")
		}
		p.shops.fail(nil)
		for _, committed := range []bool{false, true} {
			tx, err := p.db.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, done, err := p.RateInTx(t.Context(), tx, []Rating{{ShopID: 1, UserID: ann, Stars: 5}, {ShopID: 1, UserID: ann, Stars: 5}})
			if err != nil {
				t.Fatal(err)
			}
			if committed {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			done(t.Context(), committed)
		}
		p.wantUses(t, ann, 4, 1)
		tx, err := p.db.Tx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		reasons, done, err := p.RateInTx(t.Context(), tx, []Rating{{ShopID: 1, UserID: ann, Stars: 5}, {ShopID: 1, UserID: ann, Stars: 4}})
		if err != nil {
			t.Fatal(err)
		}
		wantRefused(t, "a repeat above the limit", reasons[0])
		wantRefused(t, "a change above the limit", reasons[1], "LIMIT_REACHED")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		done(t.Context(), false)
	})
}
