package checkin

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestBulkInsertIsIdempotent(t *testing.T) {
	const users = 700 // more than a batch
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		ann := p.user(t)
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{}, Streak: 0}) // Redis stores an empty bitmap
		p.checks(t, ann, Points)
		drafts := []Draft{{ann, date(t, "2026-11-23")}, {ann, date(t, "2026-11-22")}, {ann, date(t, "2026-11-22")}, {ann, date(t, "2025-02-01")}, {ann, date(t, "2026-10-31")}}
		for user := range int64(users) {
			drafts = append(drafts, Draft{ann + 1 + user, date(t, "2026-11-01")})
		}
		for _, want := range []int{users + 3, 0} {
			if n, err := p.BulkInsert(t.Context(), drafts); n != want || err != nil {
				t.Errorf("got %d added, %v, want %d", n, err, want)
			}
		}
		p.wantMonth(t, ann, "", &Month{Month: "2026-11", Days: []int{22, 23}, Streak: 2})
		p.wantMonth(t, ann, "2026-10", &Month{Month: "2026-10", Days: []int{31}, Streak: 2})
		p.wantMonth(t, ann, "2025-02", &Month{Month: "2025-02", Days: []int{1}, Streak: 2})
		p.wantMonth(t, ann+users, "", &Month{Month: "2026-11", Days: []int{1}, Streak: 0})
		if n, rows := p.points(t, ann), p.rowPoints(t, ann); n != 4*Points || rows != n {
			t.Errorf("got %d points, and %d in the rows, want %d", n, rows, 4*Points)
		}
		if n := p.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs", n)
		}
		if _, err := p.BulkInsert(t.Context(), []Draft{{ann, civil.Date{Year: 2026, Month: 2, Day: 29}}}); err == nil {
			t.Error("got no error for an invalid day")
		}
	})
}

// Two equal bulk inserts run during check-ins: each day earns once.
func TestConcurrentBulkInsertsAndCheckInsEarnOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, "UTC")
		const users = 40
		var ids []int64
		var drafts []Draft
		for range users {
			ids = append(ids, p.user(t))
			drafts = append(drafts, Draft{ids[len(ids)-1], p.today()})
		}
		var g errgroup.Group
		for range 2 {
			g.Go(func() error { _, err := p.BulkInsert(t.Context(), drafts); return err })
		}
		for _, id := range ids {
			g.Go(func() error { _, _, err := p.CheckIn(t.Context(), id); return err })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			p.wantMonth(t, id, "", &Month{Month: "2026-11", Days: []int{23}, Streak: 1})
			if n := p.points(t, id); n != Points {
				t.Errorf("user %d: got %d points, want %d", id, n, Points)
			}
		}
	})
}

// rowPoints returns the points in the rows of a user.
func (p *process) rowPoints(t *testing.T, user int64) (n int) {
	t.Helper()
	for _, row := range p.db.CheckInMonth.Query().AllX(t.Context()) {
		if row.UserID == user {
			n += row.Points
		}
	}
	return n
}
