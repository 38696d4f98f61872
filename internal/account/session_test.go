package account

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sessionReads returns the numbers of session reads from Redis and from rows.
func (p process) sessionReads(t *testing.T) (fromRedis, fromRow float64) {
	t.Helper()
	return p.count(t, "tandian_session_reads_total", "redis"), p.count(t, "tandian_session_reads_total", "row")
}

// wantUser checks the user of a token, 0 for an anonymous viewer, in all processes.
func wantUser(t *testing.T, token string, user int64, processes ...process) {
	t.Helper()
	for i, p := range processes {
		v := p.Authenticate(t.Context(), token)
		if v.ID != user || v.unknown != nil {
			t.Errorf("process %d: got user %d (%v), want %d", i, v.ID, v.unknown, user)
		}
	}
}

// sessionKey returns the Redis key of a token's session.
func (p process) sessionKey(t *testing.T, token string) string {
	t.Helper()
	id, ok := sessionOf(token)
	if !ok {
		t.Fatal("invalid token")
	}
	return p.sessions.keys.session(id)
}

func TestSessionsSurviveALossOfRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		wantUser(t, in.Token, in.User.ID, p, q)
		if _, fromRow := q.sessionReads(t); fromRow != 0 {
			t.Error("the other process read the row")
		}
		key := p.sessionKey(t, in.Token)
		if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > sessionLife || ttl < sessionLife-time.Minute {
			t.Errorf("got a lifetime of %v", ttl)
		}
		row := p.db.Session.Query().OnlyX(t.Context())
		if left := time.Until(row.ExpiresAt); left > sessionLife || left < sessionLife-time.Minute || row.UserID != in.User.ID {
			t.Errorf("got row %+v", row)
		}
		if strings.Contains(key, in.Token) || row.ID == in.Token {
			t.Error("the token is stored")
		}

		// Redis loses everything: the row serves one read, then Redis again.
		if err := p.rdb.Unlink(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			wantUser(t, in.Token, in.User.ID, q)
		}
		if _, fromRow := q.sessionReads(t); fromRow != 1 {
			t.Errorf("got %v reads of the row, want 1", fromRow)
		}
		if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > sessionLife || ttl < sessionLife-time.Minute {
			t.Errorf("got a lifetime of %v after the loss", ttl)
		}
	})
}

func TestLogoutEndsTheSessionEverywhere(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in, other := p.login(t, ann), p.login(t, ann)
		wantUser(t, in.Token, in.User.ID, p, q)

		// A reader has read the row and not stored it in Redis yet.
		until := time.Now().Add(sessionLife)
		id, _ := sessionOf(in.Token)
		if err := q.Logout(t.Context(), q.Authenticate(t.Context(), in.Token)); err != nil {
			t.Fatal(err)
		}
		wantUser(t, in.Token, 0, p, q)
		p.sessions.put(t.Context(), id, live{in.User.ID, until.Add(sessionMax)}, until, until.Add(-sessionLife))
		wantUser(t, in.Token, 0, p, q)

		// The end mark remains for a while and then expires too.
		p.jobs(t) // waits for the jobs of the logins
		if n := q.jobs(t); n != 0 {
			t.Errorf("%d jobs are left to the outbox", n)
		}
		p.sessions.now = func() time.Time { return time.Now().Add(endedRowLife) }
		if err := p.sessions.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.sessions.now = time.Now
		if ttl := p.rdb.PTTL(t.Context(), p.sessionKey(t, in.Token)).Val(); ttl > endedLife || ttl <= 0 {
			t.Errorf("got a lifetime of %v for the end mark", ttl)
		}
		if n := p.db.Session.Query().CountX(t.Context()); n != 1 {
			t.Errorf("got %d rows, want only the other session", n)
		}
		p.rdb.Unlink(t.Context(), p.sessionKey(t, in.Token))
		wantUser(t, in.Token, 0, p, q)
		wantUser(t, other.Token, in.User.ID, p, q)
	})
}

// After a logout during an outage, Redis still has the session until the outbox of any
// process has run.
func TestLogoutWithoutRedisIsPropagatedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		for _, one := range []process{p, q} {
			one.unavailable.Store(true)
		}
		wantUser(t, in.Token, in.User.ID, p, q) // from the row
		if err := p.Logout(t.Context(), p.Authenticate(t.Context(), in.Token)); err != nil {
			t.Fatal(err)
		}
		wantUser(t, in.Token, 0, p, q)
		if n := p.jobs(t); n != 1 {
			t.Errorf("got %d pending jobs, want one for the session", n)
		}
		p.unavailable.Store(false)
		q.unavailable.Store(false)
		wantUser(t, in.Token, in.User.ID, p) // from Redis, without the end mark
		storetest.Relay(t, q.Service.outbox)
		testkit.Eventually(t, 10*time.Second, func() bool { return p.Authenticate(t.Context(), in.Token).ID == 0 })
		testkit.Eventually(t, 10*time.Second, func() bool { return q.jobs(t) == 0 })
	})
}

func TestSessionRefreshIntervals(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		key, id := p.sessionKey(t, in.Token), ""
		id, _ = sessionOf(in.Token)
		// used sets the last refreshes of a session in Redis and of its row.
		used := func(ago, rowAgo time.Duration) {
			t.Helper()
			now := time.Now()
			p.rdb.HSet(t.Context(), key, "until", now.Add(sessionLife-ago).UnixMilli(), "row", now.Add(sessionLife-rowAgo).UnixMilli())
			p.rdb.PExpire(t.Context(), key, sessionLife-ago)
			p.db.Session.UpdateOneID(id).SetExpiresAt(now.Add(sessionLife - rowAgo).UTC()).SetUsedAt(now.Add(-rowAgo).UTC()).ExecX(t.Context())
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
			{"used within a minute, the row is due", 30 * time.Second, 61 * time.Minute, false, true},
			{"a day ago", 24 * time.Hour, 24 * time.Hour, true, true},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				used(tt.ago, tt.rowAgo)
				wantUser(t, in.Token, in.User.ID, p, q)
				left := p.rdb.PTTL(t.Context(), key).Val()
				if fresh := left > sessionLife-10*time.Second; fresh != tt.fresh {
					t.Errorf("%v left in Redis: got refreshed %v, want %v", left, fresh, tt.fresh)
				}
				rowLeft := time.Until(p.db.Session.GetX(t.Context(), id).ExpiresAt)
				if fresh := rowLeft > sessionLife-10*time.Second; fresh != tt.row {
					t.Errorf("%v left in the row: got refreshed %v, want %v", rowLeft, fresh, tt.row)
				}
			})
		}

		// One of many concurrent requests writes the row.
		used(2*time.Hour, 2*time.Hour)
		var mu sync.Mutex
		due := 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				s := []process{p, q}[i%2].sessions
				outcome, _, err := s.readRedis(t.Context(), id)
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
			t.Errorf("got %d of 20 concurrent requests that must write the row, want 1", due)
		}
		// A minute later, the row is not due.
		now := time.Now()
		p.rdb.HSet(t.Context(), key, "until", now.Add(sessionLife-2*time.Minute).UnixMilli())
		outcome, _, err := p.sessions.readRedis(t.Context(), id)
		if err != nil || outcome == rowIsDue {
			t.Errorf("a minute later: got %d, %v, want a row that is not due", outcome, err)
		}
	})
}

// A Redis without memory cannot extend sessions, but serves them.
func TestFullRedisStillServesSessions(t *testing.T) {
	on := storetest.Real(t)
	on.Redis.URL = testkit.Redis(t, "--maxmemory-policy", "noeviction")
	p, q := open(t, on, Config{}), open(t, on, Config{})
	in := p.login(t, ann)
	old := time.Now().Add(sessionLife - 2*time.Hour).UnixMilli()
	p.rdb.HSet(t.Context(), p.sessionKey(t, in.Token), "until", old, "row", old)
	full := testkit.AdminClient(t, p.rdb)
	if err := full.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	wantUser(t, in.Token, in.User.ID, q)
	if fromRedis, fromRow := q.sessionReads(t); fromRedis != 1 || fromRow != 0 {
		t.Errorf("got %v sessions from Redis and %v from rows, want 1 and 0", fromRedis, fromRow)
	}
	if got := p.rdb.HGet(t.Context(), p.sessionKey(t, in.Token), "row").Val(); got != strconv.FormatInt(old, 10) {
		t.Errorf("got %s for the row, want %d", got, old)
	}
}

// A Redis restored from an old snapshot may contain ended sessions.
func TestRestoredSessionsWithoutRowsAreDetected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		id, _ := sessionOf(in.Token)
		p.db.Session.DeleteOneID(id).ExecX(t.Context())
		p.rdb.HSet(t.Context(), p.sessionKey(t, in.Token), "until", time.Now().Add(sessionLife-2*time.Minute).UnixMilli())
		wantUser(t, in.Token, in.User.ID, q) // not due yet
		old := time.Now().Add(sessionLife - 2*time.Hour).UnixMilli()
		p.rdb.HSet(t.Context(), p.sessionKey(t, in.Token), "until", old, "row", old)
		wantUser(t, in.Token, 0, q, p)
	})
}

func TestSessionsExpireAfter36Hours(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in, stored := p.login(t, ann), p.login(t, ann)
		id, _ := sessionOf(in.Token)
		p.db.Session.UpdateOneID(id).SetExpiresAt(time.Now().Add(-rowEvery - 2*touchEvery).UTC()).ExecX(t.Context())
		p.rdb.Unlink(t.Context(), p.sessionKey(t, in.Token)) // like its expiry
		wantUser(t, in.Token, 0, p)
		if err := p.sessions.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ids := p.db.Session.Query().IDsX(t.Context()); len(ids) != 1 || ids[0] == id {
			t.Errorf("got %d rows, want the live one", len(ids))
		}
		wantUser(t, stored.Token, in.User.ID, p)

		// The row alone also extends a session that is used.
		p.unavailable.Store(true)
		id, _ = sessionOf(stored.Token)
		p.db.Session.UpdateOneID(id).SetExpiresAt(time.Now().Add(time.Minute).UTC()).SetUsedAt(time.Now().Add(time.Minute - sessionLife).UTC()).ExecX(t.Context())
		wantUser(t, stored.Token, in.User.ID, p)
		if left := time.Until(p.db.Session.GetX(t.Context(), id).ExpiresAt); left < sessionLife-time.Minute {
			t.Errorf("got %v left in the row", left)
		}
	})
}

// Without stores, viewers are unknown, not logged out.
func TestViewersAreUnknownWithoutStores(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{SessionRowsAtOnce: 1})
		in := p.login(t, ann)
		unknown := func(name string, ctx context.Context) {
			t.Helper()
			v := p.Authenticate(ctx, in.Token)
			if _, err := v.User(ctx); v.ID != 0 || apierror.KindOf(v.Require(ctx, Customer)) != apierror.Unavailable || apierror.KindOf(err) != apierror.Unavailable {
				t.Errorf("%s: %+v", name, v)
			}
		}
		p.unavailable.Store(true)
		wantUser(t, in.Token, in.User.ID, p)

		// Another reader of a row is slow.
		if !p.sessions.rows.TryAcquire(1) {
			t.Fatal("the only slot is taken")
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		unknown("no slot", short)
		p.sessions.waiting.Store(rowQueue)
		unknown("too many wait", t.Context())
		if v := p.Authenticate(t.Context(), in.Token); !strings.Contains(fmt.Sprint(v.unknown), "too many concurrent reads") {
			t.Errorf("full queue: got %v", v.unknown)
		}
		p.sessions.waiting.Store(0)
		p.sessions.rows.Release(1)
		wantUser(t, in.Token, in.User.ID, p)

		if err := p.db.Close(); err != nil {
			t.Fatal(err)
		}
		unknown("no database", t.Context())
		if n := p.count(t, "tandian_session_reads_total", "failed"); n != 4 {
			t.Errorf("got %v counted failures, want 4", n)
		}
	})
}

func TestInvalidTokensAreAnonymous(t *testing.T) {
	good := newToken()
	if _, ok := sessionOf(good); !ok || len(good) != 43 {
		t.Errorf("got %d characters, valid %v", len(good), ok)
	}
	for name, token := range map[string]string{
		"nothing": "", "short": good[:42], "long": good + "A", "padded": good + "=", "with a space": " " + good,
		"another alphabet": strings.Repeat("+", 43), "bits too many": good[:42] + "B", "with a line end": good[:20] + "\n" + good[20:], "endless": strings.Repeat("A", 1<<20),
		"not base64url": base64.StdEncoding.EncodeToString(make([]byte, 32)),
	} {
		if id, ok := sessionOf(token); ok {
			t.Errorf("%s: got session %s, want none", name, id)
		}
	}
	if newToken() == good {
		t.Error("tokens repeat")
	}
}

// The row of a session in use is not purged, although it may be out of date.
func TestPurgeKeepsSessionsInRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		begin := time.Now()
		for _, after := range []time.Duration{59 * time.Minute, 36*time.Hour + 58*time.Minute} { // the row is from time 0
			p.sessions.now = func() time.Time { return begin.Add(after) }
			if err := p.sessions.purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantUser(t, in.Token, in.User.ID, p)
		}
		p.sessions.now = func() time.Time { return begin.Add(3 * sessionLife) }
		if err := p.sessions.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.db.Session.Query().CountX(t.Context()); n != 0 {
			t.Errorf("got %d rows", n)
		}
	})
}

// The caller sets no deadline, like the server.
func TestAuthenticateTimesOutOnSilentStores(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		q.rdb.AddHook(silent{})
		ctx := context.WithoutCancel(t.Context())
		if v := q.Authenticate(ctx, in.Token); v.ID != in.User.ID {
			t.Errorf("silent Redis: got %+v, want user %d", v, in.User.ID)
		}
		if p.db.Dialect() != dialect.Postgres {
			return
		}
		tx, err := p.db.Tx(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		q.DropSessions()
		if v := q.Authenticate(ctx, in.Token); !v.Unknown() {
			t.Errorf("silent database: got %+v, want unknown", v)
		}
	})
}

// silent simulates a Redis that never replies.
type silent struct{}

func (silent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (silent) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-ctx.Done()
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
}

func (silent) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, _ []redis.Cmder) error { <-ctx.Done(); return ctx.Err() }
}

// An unavailable node of a cluster must not keep sessions on other nodes alive.
func TestUnavailableNodeDelaysOnlyItsSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		in := p.login(t, ann)
		ids := map[string]string{} // tokens by id
		for range 6 {
			token := p.login(t, ann).Token
			id, _ := sessionOf(token)
			ids[id] = token
		}
		first := slices.Min(slices.Collect(maps.Keys(ids)))
		dead := &atomic.Bool{}
		dead.Store(true)
		p.rdb.AddHook(deadKey{p.sessions.keys.session(first), dead})
		if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		for id, token := range ids {
			if id != first {
				wantUser(t, token, 0, q)
			}
		}
		if n := p.jobs(t); n != 1 {
			t.Errorf("got %d pending jobs", n)
		}
		wantUser(t, ids[first], in.User.ID, q)
		dead.Store(false)
		storetest.Relay(t, p.Service.outbox)
		testkit.Eventually(t, 10*time.Second, func() bool { return q.Authenticate(t.Context(), ids[first]).ID == 0 })
	})
}

// deadKey simulates an unavailable node for one key.
type deadKey struct {
	key  string
	dead *atomic.Bool
}

func (d deadKey) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d deadKey) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.dead.Load() && slices.Contains(cmd.Args(), any(d.key)) {
			cmd.SetErr(storetest.ErrInjected)
			return storetest.ErrInjected
		}
		return next(ctx, cmd)
	}
}

func (d deadKey) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !d.dead.Load() {
			return next(ctx, cmds)
		}
		var failed error
		rest := slices.DeleteFunc(slices.Clone(cmds), func(cmd redis.Cmder) bool {
			if !slices.Contains(cmd.Args(), any(d.key)) {
				return false
			}
			cmd.SetErr(storetest.ErrInjected)
			failed = storetest.ErrInjected
			return true
		})
		return errors.Join(next(ctx, rest), failed)
	}
}

// A slow Redis must not hold the semaphore of row readers.
func TestSlowRedisDoesNotBlockRowReaders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{SessionRowsAtOnce: 1})
		in := p.login(t, ann)
		p.rdb.Unlink(t.Context(), p.sessionKey(t, in.Token))
		entered, leave := make(chan struct{}), make(chan struct{})
		p.rdb.AddHook(&slowFill{entered: entered, leave: leave})
		var slow sync.WaitGroup
		slow.Go(func() { wantUser(t, in.Token, in.User.ID, p) })
		<-entered // it has the row and stores it in Redis
		if !p.sessions.rows.TryAcquire(1) {
			t.Error("the slot is held during the write to Redis")
		} else {
			p.sessions.rows.Release(1)
		}
		close(leave)
		slow.Wait()
	})
}

// slowFill blocks before the first script.
type slowFill struct {
	first          sync.Once
	entered, leave chan struct{}
}

func (s *slowFill) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowFill) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			s.first.Do(func() { close(s.entered); <-s.leave })
		}
		return next(ctx, cmd)
	}
}

func (s *slowFill) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestUsersHaveAtMostHundredSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		first := p.login(t, ann)
		id, _ := sessionOf(first.Token)
		p.db.Session.UpdateOneID(id).SetExpiresAt(time.Now().Add(sessionLife - time.Hour).UTC()).ExecX(t.Context())
		tokens, err := p.CreateSessions(t.Context(), slices.Repeat([]int64{first.User.ID}, sessionsPerUser-1))
		if err != nil {
			t.Fatal(err)
		}
		wantUser(t, first.Token, first.User.ID, p)
		last := p.login(t, ann)
		wantUser(t, first.Token, 0, p)
		for _, token := range []string{last.Token, tokens[0], tokens[len(tokens)-1]} {
			wantUser(t, token, first.User.ID, p)
		}
	})
}

// A login with the old password that races with its change must not survive.
func TestPasswordChangeEndsSessionsOfOldPassword(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{PasswordsAtOnce: 8})
		// A cheap hash keeps the test fast.
		p.passwords.derive = func(password, salt []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
			return append(append([]byte{}, password...), make([]byte, 64)...)[:keyLen]
		}
		in := p.login(t, ann)
		old := "correct horse"
		for round := range 20 {
			p.rdb.Unlink(t.Context(), p.keys.passwordSets(in.User.ID))
			if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, old)); err != nil {
				t.Fatal(err)
			}
			change := p.passwordChange(t, ann, fmt.Sprintf("battery staple %d", round))
			var mu sync.Mutex
			var tokens []string
			var all sync.WaitGroup
			for range passwordTries {
				all.Go(func() {
					if got, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &old}); err == nil {
						mu.Lock()
						defer mu.Unlock()
						tokens = append(tokens, got.Token)
					}
				})
			}
			all.Go(func() {
				if _, err := p.SetPassword(t.Context(), in.Viewer, change); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for _, token := range tokens {
				wantUser(t, token, 0, p)
			}
			p.rdb.Unlink(t.Context(), p.keys.passwordTries(ann))
			p.rdb.Unlink(t.Context(), p.keys.passwordNetwork(ann, client{}.site()))
		}
		wantUser(t, in.Token, in.User.ID, p)
	})
}

func TestEndedSessionsCannotSetPasswords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p, q := open(t, on, Config{}), open(t, on, Config{})
		owner, thief := p.login(t, ann), p.login(t, ann)
		admitted := q.Authenticate(t.Context(), thief.Token)
		if _, err := p.SetPassword(t.Context(), owner.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		password := "correct horse"
		if _, err := q.SetPassword(t.Context(), admitted, PasswordChange{Password: "wrong horse", Current: &password}); apierror.KindOf(err) != apierror.Unauthenticated {
			t.Errorf("change by the ended session: %v", err)
		}
		if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password}); err != nil {
			t.Errorf("owner's password: %v", err)
		}
		wantUser(t, owner.Token, owner.User.ID, p, q)
	})
}

// The invalidation follows the commit even if the client disconnects.
func TestPasswordChangeCompletesAfterDisconnect(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		p.passwords.derive = func(password, salt []byte, _, _ uint32, _ uint8, keyLen uint32) []byte {
			return append(append([]byte{}, password...), make([]byte, 64)...)[:keyLen]
		}
		in := p.login(t, ann)
		changed := 0
		for round := range 60 {
			p.rdb.Unlink(t.Context(), p.keys.passwordSets(in.User.ID))
			tokens, err := p.CreateSessions(t.Context(), []int64{in.User.ID})
			if err != nil {
				t.Fatal(err)
			}
			before := optional.Value(p.db.User.GetX(t.Context(), in.User.ID).PasswordHash)
			change := p.passwordChange(t, ann, fmt.Sprintf("battery staple %d", round))
			ctx, hangUp := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(round)*50*time.Microsecond, hangUp)
			_, _ = p.SetPassword(ctx, in.Viewer, change)
			hangUp()
			who := in.User.ID
			if optional.Value(p.db.User.GetX(t.Context(), in.User.ID).PasswordHash) != before {
				who = 0
				changed++
			}
			wantUser(t, tokens[0], who, p)
		}
		t.Logf("%d of 60 changes were committed", changed)
	})
}

func TestPasswordChangesAreLimitedToTenAnHour(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		for range passwordSets {
			if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
				t.Fatal(err)
			}
		}
		err := errOf(p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")))
		if f, ok := errors.AsType[*apierror.Error](err); !ok || f.Kind != apierror.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > time.Hour {
			t.Errorf("eleventh change: %v", err)
		}
	})
}

// An attempt that compares nothing does not count.
func TestBusyServerCostsNoTries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{PasswordsAtOnce: 1, PasswordsInQueue: 1})
		in := p.login(t, ann)
		if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		for range cap(p.passwords.slots) { // other callers
			p.passwords.slots <- struct{}{}
		}
		password := "correct horse"
		for range 2 * passwordTries {
			if err := errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password})); apierror.KindOf(err) != apierror.Unavailable {
				t.Errorf("busy: %v", err)
			}
		}
		for range cap(p.passwords.slots) {
			<-p.passwords.slots
		}
		if _, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password}); err != nil {
			t.Errorf("right password afterwards: %v", err)
		}
	})
}

func TestDisabledDemoAccountsPermitNoLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		if _, err := p.EnsureDemoAccounts(t.Context(), "correct horse", DemoAccount{ann, "Demo admin", Admin}); err != nil {
			t.Fatal(err)
		}
		other := p.login(t, ben)
		password := "correct horse"
		in, err := p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password})
		if err != nil || in.User.Role != Admin {
			t.Fatalf("%+v, %v", in, err)
		}
		for range 2 {
			if err := p.DisableDemoAccounts(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
		}
		wantUser(t, in.Token, 0, p)
		wantUser(t, other.Token, other.User.ID, p)
		wantRefusal(t, errOf(p.Login(t.Context(), Credentials{Phone: ann.E164(), Password: &password})), InvalidCredentials, "input.password")
		if u, err := p.ByID(t.Context(), in.User.ID); err != nil || u.Role != Customer {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestManySessionsEndTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		users := make([]int64, 2*endBatch+3)
		for i := range users {
			users[i] = in.User.ID
		}
		tokens, err := p.CreateSessions(t.Context(), users)
		if err != nil {
			t.Fatal(err)
		}
		wantUser(t, tokens[0], in.User.ID, p)
		if _, err := p.SetPassword(t.Context(), in.Viewer, p.passwordChange(t, ann, "correct horse")); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, endBatch, 2*endBatch + 2} {
			wantUser(t, tokens[i], 0, p)
		}
		if n := p.jobs(t); n != 0 {
			// The embedded Redis with the race detector is too slow for that many scripts
			// within endTimeout.
			if on.SQL.DataDir == "" {
				t.Errorf("%d jobs are left to the outbox", n)
			}
			storetest.Relay(t, p.Service.outbox)
			testkit.Eventually(t, time.Minute, func() bool { return p.jobs(t) == 0 })
		}
		if n := p.db.Session.Query().Where(entsession.EndedAtIsNil()).CountX(t.Context()); n != 1 {
			t.Errorf("got %d live sessions, want 1", n)
		}
		wantUser(t, in.Token, in.User.ID, p)
	})
}
