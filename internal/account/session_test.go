package account

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reads are how often a process found a session in Redis and in its row.
func (p process) readsOf(t *testing.T) (fromRedis, fromRow float64) {
	t.Helper()
	return p.count(t, "tandian_session_reads_total", "redis"), p.count(t, "tandian_session_reads_total", "row")
}

// is fails the test unless a token is that of a user, 0 for nobody, in each of
// the processes.
func is(t *testing.T, token string, user int64, processes ...process) {
	t.Helper()
	for i, p := range processes {
		v := p.Authenticate(t.Context(), token)
		if v.ID != user || v.unknown != nil {
			t.Errorf("in process %d the token is of %d (%v), want %d", i, v.ID, v.unknown, user)
		}
	}
}

// hash is the key of a token's session.
func (p process) hash(t *testing.T, token string) string {
	t.Helper()
	id, ok := sessionOf(token)
	if !ok {
		t.Fatal("this is no token")
	}
	return p.sessions.keys.session(id)
}

func TestASessionLivesInRedisAndInItsRow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		is(t, in.Token, in.User.ID, p, q)
		if _, fromRow := q.readsOf(t); fromRow != 0 {
			t.Error("the other process read the row")
		}
		key := p.hash(t, in.Token)
		if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > sessionLife || ttl < sessionLife-time.Minute {
			t.Errorf("it lives for %v", ttl)
		}
		row := p.db.Session.Query().OnlyX(t.Context())
		if left := time.Until(row.ExpiresAt); left > sessionLife || left < sessionLife-time.Minute || row.UserID != in.User.ID {
			t.Errorf("the row is %+v", row)
		}
		if strings.Contains(key, in.Token) || row.ID == in.Token {
			t.Error("the token itself is stored")
		}

		// Redis forgets everything: the row answers once, then Redis again.
		if err := p.rdb.Unlink(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			is(t, in.Token, in.User.ID, q)
		}
		if _, fromRow := q.readsOf(t); fromRow != 1 {
			t.Errorf("the row was read %v times, want once", fromRow)
		}
		if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > sessionLife || ttl < sessionLife-time.Minute {
			t.Errorf("it is back for %v", ttl)
		}
	})
}

func TestALogoutEndsTheSessionEverywhere(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in, other := p.login(t, ann), p.login(t, ann)
		is(t, in.Token, in.User.ID, p, q)

		// A reader has read the row, but has not filled it in yet.
		until := time.Now().Add(sessionLife)
		id, _ := sessionOf(in.Token)
		if err := q.Logout(t.Context(), q.Authenticate(t.Context(), in.Token)); err != nil {
			t.Fatal(err)
		}
		is(t, in.Token, 0, p, q)
		p.sessions.put(t.Context(), id, in.User.ID, until, until)
		is(t, in.Token, 0, p, q)

		// Once swept, nothing is left but the mark, and then that goes too.
		if err := p.sessions.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ttl := p.rdb.PTTL(t.Context(), p.hash(t, in.Token)).Val(); ttl > endedLife || ttl <= 0 {
			t.Errorf("the mark lives for %v", ttl)
		}
		if n := p.db.Session.Query().CountX(t.Context()); n != 1 {
			t.Errorf("%d rows, want that of the other session", n)
		}
		p.rdb.Unlink(t.Context(), p.hash(t, in.Token))
		is(t, in.Token, 0, p, q)
		is(t, other.Token, in.User.ID, p, q)
	})
}

// A Redis that was away during a log-out still has the session when it is back,
// until a worker has told it: any worker, of any process.
func TestALogoutWithoutRedisIsToldLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		for _, one := range []process{p, q} {
			one.away.Store(true)
		}
		is(t, in.Token, in.User.ID, p, q) // by the row
		if err := p.Logout(t.Context(), p.Authenticate(t.Context(), in.Token)); err != nil {
			t.Fatal(err)
		}
		is(t, in.Token, 0, p, q)
		if err := q.sessions.sweep(t.Context()); err == nil {
			t.Error("a sweep without Redis succeeds")
		}
		p.away.Store(false)
		q.away.Store(false)
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() { _ = q.Run(ctx) })
		testkit.Eventually(t, 5*time.Second, func() bool { return p.Authenticate(t.Context(), in.Token).ID == 0 })
		testkit.Eventually(t, 5*time.Second, func() bool { return p.db.Session.Query().CountX(t.Context()) == 0 })
		stop()
		working.Wait()
	})
}

func TestASessionIsRefreshedOnceAMinuteAndItsRowOnceAnHour(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		key, id := p.hash(t, in.Token), ""
		id, _ = sessionOf(in.Token)
		// used lets a session look as if it was last refreshed so long ago.
		used := func(ago, rowAgo time.Duration) {
			t.Helper()
			now := time.Now()
			p.rdb.HSet(t.Context(), key, "until", now.Add(sessionLife-ago).UnixMilli(), "row", now.Add(sessionLife-rowAgo).UnixMilli())
			p.rdb.PExpire(t.Context(), key, sessionLife-ago)
			p.db.Session.UpdateOneID(id).SetExpiresAt(now.Add(sessionLife - rowAgo).UTC()).ExecX(t.Context())
		}
		tests := []struct {
			name        string
			ago, rowAgo time.Duration
			fresh, row  bool
		}{
			{"just used", 50 * time.Second, 50 * time.Second, false, false},
			{"a minute ago", 61 * time.Second, 61 * time.Second, true, false},
			{"the row 59 minutes ago", 2 * time.Minute, 59 * time.Minute, true, false},
			{"the row an hour ago", 2 * time.Minute, 61 * time.Minute, true, true},
			{"used within a minute, the row is due", 30 * time.Second, 61 * time.Minute, false, false},
			{"a day ago", 24 * time.Hour, 24 * time.Hour, true, true},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				used(tt.ago, tt.rowAgo)
				is(t, in.Token, in.User.ID, p, q)
				left := p.rdb.PTTL(t.Context(), key).Val()
				if fresh := left > sessionLife-10*time.Second; fresh != tt.fresh {
					t.Errorf("it has %v left: refreshed %v, want %v", left, fresh, tt.fresh)
				}
				rowLeft := time.Until(p.db.Session.GetX(t.Context(), id).ExpiresAt)
				if fresh := rowLeft > sessionLife-10*time.Second; fresh != tt.row {
					t.Errorf("the row has %v left: refreshed %v, want %v", rowLeft, fresh, tt.row)
				}
			})
		}

		// Of many requests at once one writes the row.
		used(2*time.Hour, 2*time.Hour)
		var mu sync.Mutex
		due := 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				s := []process{p, q}[i%2].sessions
				outcome, err := s.runScript(t.Context(), s.touch, id, time.Now().Add(sessionLife).UnixMilli(), sessionLife.Milliseconds(), touchEvery.Milliseconds(), rowEvery.Milliseconds())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if outcome == rowIsDue {
					due++
				}
			})
		}
		all.Wait()
		if due != 1 {
			t.Errorf("%d of 20 requests at once were told to write the row, want 1", due)
		}
		// The next one is not, a minute later.
		now := time.Now()
		p.rdb.HSet(t.Context(), key, "until", now.Add(sessionLife-2*time.Minute).UnixMilli())
		outcome, err := p.sessions.runScript(t.Context(), p.sessions.touch, id, now.Add(sessionLife).UnixMilli(), sessionLife.Milliseconds(), touchEvery.Milliseconds(), rowEvery.Milliseconds())
		if err != nil || outcome == rowIsDue {
			t.Errorf("a minute later the row is due again: %d, %v", outcome, err)
		}
	})
}

// A Redis that was put back from an old copy may have sessions that ended.
func TestASessionThatCameBackWithoutItsRowIsFoundOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		id, _ := sessionOf(in.Token)
		p.db.Session.DeleteOneID(id).ExecX(t.Context())
		p.rdb.HSet(t.Context(), p.hash(t, in.Token), "until", time.Now().Add(sessionLife-2*time.Minute).UnixMilli())
		is(t, in.Token, in.User.ID, q) // not due yet
		old := time.Now().Add(sessionLife - 2*time.Hour).UnixMilli()
		p.rdb.HSet(t.Context(), p.hash(t, in.Token), "until", old, "row", old)
		is(t, in.Token, 0, q, p)
	})
}

func TestASessionEndsADayAndAHalfAfterItsLastUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in, kept := p.login(t, ann), p.login(t, ann)
		id, _ := sessionOf(in.Token)
		p.db.Session.UpdateOneID(id).SetExpiresAt(time.Now().Add(-time.Second).UTC()).ExecX(t.Context())
		p.rdb.Unlink(t.Context(), p.hash(t, in.Token)) // as its life's end does
		is(t, in.Token, 0, p)
		if err := p.sessions.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ids := p.db.Session.Query().IDsX(t.Context()); len(ids) != 1 || ids[0] == id {
			t.Errorf("rows left: %d", len(ids))
		}
		is(t, kept.Token, in.User.ID, p)

		// By its row alone it lives on as well, if it is used.
		p.away.Store(true)
		id, _ = sessionOf(kept.Token)
		p.db.Session.UpdateOneID(id).SetExpiresAt(time.Now().Add(time.Minute).UTC()).ExecX(t.Context())
		is(t, kept.Token, in.User.ID, p)
		if left := time.Until(p.db.Session.GetX(t.Context(), id).ExpiresAt); left < sessionLife-time.Minute {
			t.Errorf("the row has %v left", left)
		}
	})
}

// Without any store nobody is signed out: it cannot be said who asks.
func TestWhoAsksIsUnknownWithoutStores(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{SessionRowsAtOnce: 1})
		in := p.login(t, ann)
		unknown := func(name string, ctx context.Context) {
			t.Helper()
			v := p.Authenticate(ctx, in.Token)
			if _, err := v.SignedIn(); v.ID != 0 || fault.KindOf(v.Require(Customer)) != fault.Unavailable || fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%s: %+v", name, v)
			}
		}
		p.away.Store(true)
		is(t, in.Token, in.User.ID, p)

		// Somebody else reads a row, and takes long.
		if !p.sessions.rows.TryAcquire(1) {
			t.Fatal("the only place is taken")
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		unknown("no place", short)
		p.sessions.waiting.Store(rowQueue)
		unknown("too many wait", t.Context())
		if v := p.Authenticate(t.Context(), in.Token); !strings.Contains(fmt.Sprint(v.unknown), "too many sessions") {
			t.Errorf("with a full queue: %v", v.unknown)
		}
		p.sessions.waiting.Store(0)
		p.sessions.rows.Release(1)
		is(t, in.Token, in.User.ID, p)

		if err := p.db.Close(); err != nil {
			t.Fatal(err)
		}
		unknown("no database", t.Context())
		if n := p.count(t, "tandian_session_reads_total", "failed"); n != 4 {
			t.Errorf("%v failures are counted, want 4", n)
		}
	})
}

func TestWhatIsNoTokenIsNobodys(t *testing.T) {
	good := newToken()
	if _, ok := sessionOf(good); !ok || len(good) != 43 {
		t.Errorf("%d characters, good: %v", len(good), ok)
	}
	for name, token := range map[string]string{
		"nothing": "", "short": good[:42], "long": good + "A", "padded": good + "=", "with a space": " " + good,
		"another alphabet": strings.Repeat("+", 43), "bits too many": good[:42] + "B", "with a line end": good[:20] + "\n" + good[20:], "endless": strings.Repeat("A", 1<<20),
		"not base64url": base64.StdEncoding.EncodeToString(make([]byte, 32)),
	} {
		if id, ok := sessionOf(token); ok {
			t.Errorf("%s is the token of %s", name, id)
		}
	}
	if newToken() == good {
		t.Error("tokens repeat")
	}
}

func TestManySessionsEndTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		users := make([]int64, 2*endBatch+3)
		for i := range users {
			users[i] = in.User.ID
		}
		tokens, err := p.Issue(t.Context(), users)
		if err != nil {
			t.Fatal(err)
		}
		is(t, tokens[0], in.User.ID, p)
		if err := p.sessions.end(t.Context(), entsession.UserID(in.User.ID), entsession.IDNEQ(in.Viewer.session)); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, endBatch, 2*endBatch + 2} {
			is(t, tokens[i], 0, p)
		}
		if err := p.sessions.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.db.Session.Query().CountX(t.Context()); n != 1 {
			t.Errorf("%d rows left, want the one that was spared", n)
		}
		is(t, in.Token, in.User.ID, p)
	})
}
