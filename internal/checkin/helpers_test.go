package checkin

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // each refused connection would log a line
	os.Exit(m.Run())
}

// people is a fake of the account service.
type people struct {
	mu          sync.Mutex
	invalidated []int64
	fails       error // of AddPoints
}

func (p *people) AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error) {
	if p.fails != nil {
		return nil, p.fails
	}
	for id, n := range points {
		if err := tx.User.Update().Where(entuser.ID(id)).AddPoints(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (p *people) AfterCommit(_ context.Context, ids []int64, _ []outbox.JobRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.invalidated = append(p.invalidated, ids...)
}

// A process is one of several instances of the Service, with a clock that the test moves.
type process struct {
	*Service
	clock  atomic.Pointer[time.Time]
	people *people
	box    *outbox.Box
	wire   *storetest.FaultyRedis
	from   storetest.Process
}

func open(t *testing.T, on storetest.Stores, zone string) *process {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	from := storetest.Open(t, on)
	p := &process{people: &people{}, wire: &storetest.FaultyRedis{}, box: from.NewOutbox(t), from: from}
	from.Redis.AddHook(p.wire)
	p.Service = New(from.DB, from.Redis, p.box, Config{
		Prefix: storetest.Prefix, Zone: loc, Users: p.people, Bitfield: on.Redis.Dial == nil,
		Now: func() time.Time { return *p.clock.Load() },
	})
	p.pause = 0
	p.at(t, "2026-11-23T12:00:00Z")
	return p
}

// at sets the clock.
func (p *process) at(t *testing.T, moment string) {
	t.Helper()
	now, err := time.Parse(time.RFC3339, moment)
	if err != nil {
		t.Fatal(err)
	}
	p.clock.Store(&now)
}

// pass moves the clock.
func (p *process) pass(d time.Duration) {
	now := p.clock.Load().Add(d)
	p.clock.Store(&now)
}

// user inserts a user without points.
func (p *process) user(t *testing.T) int64 {
	t.Helper()
	return p.db.User.Create().SetNickname("Ann").SaveX(t.Context()).ID
}

func (p *process) points(t *testing.T, user int64) int {
	t.Helper()
	return p.db.User.GetX(t.Context(), user).Points
}

// checks checks a user in and compares the earned points.
func (p *process) checks(t *testing.T, user int64, earns int) *Month {
	t.Helper()
	m, earned, err := p.CheckIn(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	if earned != earns {
		t.Errorf("at %v: got %d points, want %d", *p.clock.Load(), earned, earns)
	}
	return m
}

// wantMonth reads and compares a month.
func (p *process) wantMonth(t *testing.T, user int64, ask string, want *Month) {
	t.Helper()
	got, err := p.Month(t.Context(), user, ask)
	if err != nil {
		t.Fatal(err)
	}
	wantMonth(t, got, want)
}

// wantMonth compares months without Today, which has its own test.
func wantMonth(t *testing.T, got, want *Month) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Month{}, "Today")); d != "" {
		t.Errorf("month (-want +got):\n%s", d)
	}
}

// bulkInsert stores check-ins of a user on all days of a range.
func (p *process) bulkInsert(t *testing.T, user int64, from, to string) {
	t.Helper()
	var drafts []Draft
	for at, end := date(t, from), date(t, to); !end.Before(at); at = at.Add(1) {
		drafts = append(drafts, Draft{user, at})
	}
	if _, err := p.BulkInsert(t.Context(), drafts); err != nil {
		t.Fatal(err)
	}
}

func date(t *testing.T, text string) civil.Date {
	t.Helper()
	d, err := civil.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// flush empties Redis.
func (p *process) flush(t *testing.T, user int64) {
	t.Helper()
	for m := p.oldest(); m <= monthOf(p.today()); m = m.before(-1) {
		if err := p.from.Redis.Unlink(t.Context(), p.bitmaps.keys.month(user, m)).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// bitmap returns the bitmap of a month, with the mark.
func (p *process) bitmap(t *testing.T, user int64, m month) days {
	t.Helper()
	found, err := p.bitmaps.read(t.Context(), []bitRef{{user, m}})
	if err != nil {
		t.Fatal(err)
	}
	return found[bitRef{user, m}]
}

// cost returns the round trips to Redis and the statements of do.
func (p *process) cost(t *testing.T, do func()) (trips, statements int) {
	t.Helper()
	return p.from.CountCalls(t, p.wire, do)
}

// pendingJobs returns the number of pending outbox jobs.
func (p *process) pendingJobs(t *testing.T) int64 {
	t.Helper()
	return storetest.CountWaiting(t, p.box)
}
