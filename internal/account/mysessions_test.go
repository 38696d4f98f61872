package account

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entsession "github.com/tandian-dev/tandian/ent/session"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// at sets the clocks of a process.
func (p process) at(now *time.Time) {
	clock := func() time.Time { return *now }
	p.now, p.sessions.now, p.devices.now = clock, clock, clock
}

// A session with daily use ends after 90 days.
func TestSessionsEndAfter90Days(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		for name, forgetful := range map[string]bool{"redis": false, "rows": true} {
			t.Run(name, func(t *testing.T) {
				p := open(t, on, Config{})
				start := time.Now()
				now := start
				p.at(&now)
				in := p.login(t, ann)
				key := p.sessionKey(t, in.Token)
				id, _ := sessionOf(in.Token)
				for now.Sub(start) < sessionMax-day {
					now = now.Add(day)
					if forgetful {
						p.rdb.Unlink(t.Context(), key)
					}
					p.DropSessions()
					wantUser(t, in.Token, in.User.ID, p)
				}
				end := start.Add(sessionMax)
				if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > end.Sub(now) {
					t.Errorf("got a lifetime of %v in Redis, a day before the end", ttl)
				}
				if row := p.db.Session.GetX(t.Context(), id); row.ExpiresAt.After(end.Add(time.Millisecond)) {
					t.Errorf("the row expires %v too late", row.ExpiresAt.Sub(end))
				}
				if until := p.rdb.HGet(t.Context(), key, "until").Val(); until != p.rdb.HGet(t.Context(), key, "end").Val() {
					t.Errorf("got expiry %s in Redis", until)
				}
				step := rowEvery + time.Second                                  // rows round times up or down
				for now = now.Add(step); now.Before(end); now = now.Add(step) { // only the last use changes
					if forgetful {
						p.rdb.Unlink(t.Context(), key)
					}
					p.DropSessions()
					wantUser(t, in.Token, in.User.ID, p)
					list, err := p.Sessions(t.Context(), in.Viewer)
					i := slices.IndexFunc(list, func(s Session) bool { return s.IsCurrent })
					if err != nil || i < 0 || now.Sub(list[i].LastUsedAt) > time.Minute {
						t.Fatalf("%v before the end: %v, %v", end.Sub(now), list, err)
					}
				}
				now = end.Add(-time.Second)
				p.DropSessions()
				wantUser(t, in.Token, in.User.ID, p)
				now = end
				p.DropSessions()
				wantUser(t, in.Token, 0, p) // it is still in Redis, whose clock is real
				p.rdb.Unlink(t.Context(), key)
				wantUser(t, in.Token, 0, p)
				if n, err := p.Sessions(t.Context(), in.Viewer); len(n) != 0 || err != nil {
					t.Errorf("got %d sessions, %v, want 0", len(n), err)
				}
				if _, err := p.EndSession(t.Context(), in.Viewer, numberOf(id)); apierror.KindOf(err) != apierror.Unauthenticated {
					t.Errorf("the ended session can write: %v", err)
				}
			})
		}
	})
}

// A hash in Redis and a row of an earlier version lack end, use and device.
func TestSessionsOfEarlierVersionsEndToo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		id, _ := sessionOf(in.Token)
		key := p.sessionKey(t, in.Token)
		old := func(age time.Duration) {
			t.Helper()
			until := time.Now().Add(sessionLife - 2*time.Hour)
			p.db.Session.DeleteOneID(id).ExecX(t.Context())
			p.db.Session.Create().SetID(id).SetUserID(in.User.ID).SetCreatedAt(time.Now().Add(-age).UTC()).SetExpiresAt(until.UTC()).ExecX(t.Context())
			p.rdb.Unlink(t.Context(), key)
			p.rdb.HSet(t.Context(), key, "user", in.User.ID, "until", until.UnixMilli(), "row", until.UnixMilli())
			p.rdb.PExpire(t.Context(), key, sessionLife)
			p.DropSessions()
		}
		old(89 * day)
		list, err := p.Sessions(t.Context(), in.Viewer)
		if err != nil || len(list) != 1 || list[0].Device != nil || !list[0].IsCurrent {
			t.Fatalf("%+v, %v", list, err)
		}
		if ago := time.Since(list[0].LastUsedAt); ago < 2*time.Hour-time.Minute || ago > 2*time.Hour+time.Minute {
			t.Errorf("got last use %v ago, want two hours", ago)
		}
		wantUser(t, in.Token, in.User.ID, p)
		if end := p.rdb.HGet(t.Context(), key, "end").Val(); end == "" {
			t.Error("the session has no end in Redis")
		}
		if ttl := p.rdb.PTTL(t.Context(), key).Val(); ttl > day {
			t.Errorf("got a lifetime of %v in Redis, want at most a day", ttl)
		}
		old(91 * day)
		wantUser(t, in.Token, 0, p)
	})
}

const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0"

func TestSessionsAreListedForTheirUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		now := time.Now()
		p.at(&now)
		first := p.loginFrom(t, ann, Origin{UserAgent: firefox})
		now = now.Add(time.Minute)
		second := p.loginFrom(t, ann, Origin{})
		now = now.Add(time.Minute)
		ended := p.loginFrom(t, ann, Origin{})
		if err := p.Logout(t.Context(), ended.Viewer); err != nil {
			t.Fatal(err)
		}
		p.login(t, ben)
		list, err := p.Sessions(t.Context(), first.Viewer)
		if err != nil {
			t.Fatal(err)
		}
		device := "Firefox 132 on Windows"
		want := []Session{
			{ID: numberOf(second.Viewer.session)},
			{ID: numberOf(first.Viewer.session), IsCurrent: true, Device: &device},
		}
		got := slices.Clone(list)
		for i, at := range []time.Time{now.Add(-time.Minute), now.Add(-2 * time.Minute)} {
			if d := got[i].CreatedAt.Sub(at).Abs() + got[i].LastUsedAt.Sub(at).Abs(); d > time.Millisecond {
				t.Errorf("session %d: got beginning %v and use %v, want %v", i, got[i].CreatedAt, got[i].LastUsedAt, at)
			}
			got[i].CreatedAt, got[i].LastUsedAt = time.Time{}, time.Time{}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		// A use moves the session to the front within an hour.
		now = now.Add(rowEvery + time.Minute)
		p.DropSessions()
		wantUser(t, first.Token, first.User.ID, p)
		if list, err = p.Sessions(t.Context(), first.Viewer); err != nil || !list[0].IsCurrent || now.Sub(list[0].LastUsedAt).Abs() > time.Millisecond {
			t.Errorf("after a use: %+v, %v", list, err)
		}
	})
}

func TestUsersEndTheirSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var mu []string
		p := open(t, on, Config{OnSessionsEnded: func(_ context.Context, ids ...string) error { mu = append(mu, ids...); return nil }})
		own, other, third, bens := p.login(t, ann), p.login(t, ann), p.login(t, ann), p.login(t, ben)
		wantRefusal(t, errOf(p.EndSession(t.Context(), own.Viewer, numberOf(bens.Viewer.session))), apierror.NotFound, "id")
		wantUser(t, bens.Token, bens.User.ID, p)
		if is, err := p.EndSession(t.Context(), own.Viewer, numberOf(other.Viewer.session)); is || err != nil {
			t.Errorf("other session: %v, %v", is, err)
		}
		if !slices.Contains(mu, other.Viewer.session) {
			t.Error("Config.Ended was not called for the session")
		}
		wantUser(t, other.Token, 0, p)
		wantRefusal(t, errOf(p.EndSession(t.Context(), own.Viewer, numberOf(other.Viewer.session))), apierror.NotFound, "id")
		if err := p.EndOtherSessions(t.Context(), own.Viewer); err != nil {
			t.Fatal(err)
		}
		wantUser(t, third.Token, 0, p)
		if !slices.Contains(mu, third.Viewer.session) || slices.Contains(mu, own.Viewer.session) {
			t.Error("Config.Ended was not called for exactly the other sessions")
		}
		wantUser(t, own.Token, own.User.ID, p)
		if err := p.EndOtherSessions(t.Context(), third.Viewer); apierror.KindOf(err) != apierror.Unauthenticated {
			t.Errorf("ended session: %v", err)
		}
		if is, err := p.EndSession(t.Context(), own.Viewer, numberOf(own.Viewer.session)); !is || err != nil {
			t.Errorf("own session: %v, %v", is, err)
		}
		wantUser(t, own.Token, 0, p)
		if n := p.db.Session.Query().Where(entsession.EndedAtIsNil()).CountX(t.Context()); n != 1 {
			t.Errorf("got %d sessions, want one of another user", n)
		}
	})
}

// A session alone does not permit a password change.
func TestSetPasswordNeedsAProof(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		set := func(c PasswordChange) error {
			c.Password = "attacker pass 1"
			return errOf(p.SetPassword(t.Context(), in.Viewer, c))
		}
		text := func(s string) *string { return &s }
		hash := func() string { return *p.db.User.GetX(t.Context(), in.User.ID).PasswordHash }
		wantRefusal(t, set(PasswordChange{}), InvalidCode, "code")
		wantRefusal(t, set(PasswordChange{Current: text("")}), InvalidCode, "code")
		wantRefusal(t, set(PasswordChange{Code: text("000000")}), InvalidCode, "code")
		wantRefusal(t, set(PasswordChange{Code: text("0")}), InvalidCode, "code")
		if u := p.db.User.GetX(t.Context(), in.User.ID); u.PasswordHash != nil {
			t.Fatal("a password was set")
		}
		change := p.passwordChange(t, ann, "correct horse")
		if _, err := p.SetPassword(t.Context(), in.Viewer, change); err != nil {
			t.Fatal(err)
		}
		was := hash()
		wantRefusal(t, set(PasswordChange{}), InvalidCredentials, "currentPassword")
		wantRefusal(t, set(PasswordChange{Code: change.Code}), InvalidCode, "code") // used up
		if err := set(PasswordChange{Current: text("correct horse"), Code: text("000000")}); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("both: %v", err)
		}
		bens := p.code(t, ben)
		for p.code(t, ann) == bens {
			continue
		}
		wantRefusal(t, set(PasswordChange{Code: &bens}), InvalidCode, "code")
		for range passwordTries {
			wantRefusal(t, set(PasswordChange{Current: text("wrong horse")}), InvalidCredentials, "currentPassword")
		}
		wantRefusal(t, set(PasswordChange{Current: text("correct horse")}), InvalidCredentials, "currentPassword") // too many tries
		wantRefusal(t, p.try(t, ann, "correct horse", Origin{}), InvalidCredentials, "input.password")             // one count for both
		if hash() != was {
			t.Fatal("the password was changed")
		}
		p.rdb.Unlink(t.Context(), p.keys.passwordNetwork(ann, client{}.site()))
		if err := set(PasswordChange{Current: text("correct horse")}); err != nil || hash() == was {
			t.Errorf("by the current password: %v", err)
		}
		// An account without a phone cannot get a code.
		seeded := p.db.User.Create().SetNickname("seeded").SetExternalID("x:1").SaveX(t.Context())
		tokens, err := p.CreateSessions(t.Context(), []int64{seeded.ID})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.SetPassword(t.Context(), p.Authenticate(t.Context(), tokens[0]), PasswordChange{Password: "attacker pass 1", Code: text("000000")})
		wantRefusal(t, err, InvalidPhone, "")
	})
}

// A change with a password that has changed since its verification is rejected.
func TestSetPasswordVerifiesAgainAtCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, Config{})
		in := p.login(t, ann)
		stale := "$argon2id$stale"
		_, err := p.sessions.replacePassword(t.Context(), in.Viewer, &stale, "$argon2id$new")
		if err == nil || p.db.User.GetX(t.Context(), in.User.ID).PasswordHash != nil {
			t.Errorf("it was changed: %v", err)
		}
	})
}

func TestWeakPasswordsAreRejected(t *testing.T) {
	const british Phone = "+447911123456"
	for _, tt := range []struct {
		password string
		own      Phone
		weak     bool
	}{
		{"password", ann, true},
		{"PassWord", ann, true},
		{"12345678", ann, true},
		{"1qaz2wsx", ann, true},
		{"woaini1314", ann, true},
		{"aaaaaaaaa", ann, true},
		{"ééééééééé", ann, true},
		{"zyxwvutsrq", ann, true},
		{"23456789012", ann, true},
		{"32109876", ann, true},
		{"efghijklmnop", ann, true},
		{"13900000001", ann, true},
		{"8613900000001", ann, true},
		{"+86 139-0000-0001", ann, true},
		{"0086 139 0000 0001", ann, true},
		{"013900000001", ann, true},
		{"07911 123456", british, true},
		{"+44 7911 123456", british, true},
		{"+44 (0)7911 123456", british, true},
		{"7911123456", british, true},
		{"07911 123456", ann, false},
		{"13900000002", ann, false},
		{"correct horse", ann, false},
		{"abcdefgx", ann, false},
		{"passwordx9", "", false},
		{"13913913", "", false},
	} {
		t.Run(tt.password, func(t *testing.T) {
			_, problem := checkPassword(tt.password, tt.own)
			if (problem != "") != tt.weak {
				t.Errorf("got problem %q, want weak %v", problem, tt.weak)
			}
		})
	}
	if !slices.IsSorted(commonPasswords()) || len(commonPasswords()) < 300 {
		t.Errorf("the list of %d passwords is short or not sorted", len(commonPasswords()))
	}
	for _, word := range commonPasswords() {
		if len([]rune(word)) < minPassword || word != strings.ToLower(word) {
			t.Errorf("%q can never match", word)
		}
	}
}

func TestDescribe(t *testing.T) {
	for agent, want := range map[string]string{
		firefox: "Firefox 132 on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15":                             "Safari 17 on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131.0.1 Mobile/15E148 Safari/604.1":          "Chrome 131 on iPhone",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36":                                   "Chrome 131 on Android",
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0":                                 "Edge 131 on Windows",
		"Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/116.0 Mobile Safari/537.36 MicroMessenger/8.0.49 WeChat": "WeChat 8 on Android",
		"okhttp/4.12.0":                "okhttp/4.12.0",
		"":                             "",
		"a\x00b\r\nc\u202ed\u0085<b>":  "abcd<b>",
		strings.Repeat("x", 1000):      strings.Repeat("x", 80),
		strings.Repeat("é", 300) + "x": "",
	} {
		if got := describe(agent); got != want {
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
}
