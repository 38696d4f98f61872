package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const (
	setPassword = `mutation P($p: String!, $current: String, $code: String) { setPassword(password: $p, currentPassword: $current, code: $code) { user { id } userErrors { code message field } } }`
	mySessions  = `{ me { sessions { id createdAt lastUsedAt isCurrent device } } }`
	endOthers   = `mutation { endOtherSessions { user { sessions { id } } userErrors { code } } }`
	endSession  = `mutation E($id: ID!) { endSession(id: $id) { user { id sessions { id } } userErrors { code field } } }`
	logIn       = `mutation L($input: LoginInput!) { login(input: $input) { token user { id } userErrors { code message field } } }`
)

type loginAnswer struct {
	Login struct {
		Token      string
		User       struct{ ID string }
		UserErrors []apptest.UserError
	}
}

// cookieOf returns the device cookie of an answer, or nil.
func cookieOf(a apptest.Answer) *http.Cookie {
	for _, c := range a.Cookies {
		if c.Name == "tandian_device" {
			return c
		}
	}
	return nil
}

// browser returns a client that logged in by code and sends its device cookie.
func browser(t *testing.T, s *apptest.Server, phone string) (as *apptest.Server, id string) {
	t.Helper()
	var in loginAnswer
	a := s.Do(t, logIn, map[string]any{"input": map[string]any{"phone": phone, "code": s.Code(t, phone)}}, &in)
	cookie := cookieOf(a)
	if in.Login.Token == "" || cookie == nil {
		t.Fatalf("logged in: %v, got cookies %v", in.Login.Token != "", a.Cookies)
	}
	return s.As(in.Login.Token).With("Cookie", cookie.Name+"="+cookie.Value), in.Login.User.ID
}

// newPassword sets the password of a user by a code.
func newPassword(t *testing.T, as *apptest.Server, phone, password string) {
	t.Helper()
	if c := refusal(t, as, map[string]any{"p": password, "code": as.Code(t, phone)}); c != "" {
		t.Fatalf("set the password: got %s", c)
	}
}

// refusal returns the code of the first user error of setPassword, or "".
func refusal(t *testing.T, as *apptest.Server, variables map[string]any) string {
	t.Helper()
	var got struct {
		SetPassword struct {
			User       *struct{ ID string }
			UserErrors []apptest.UserError
		}
	}
	as.Must(t, setPassword, variables, &got)
	if (got.SetPassword.User != nil) != (len(got.SetPassword.UserErrors) == 0) {
		t.Errorf("setPassword: %+v", got.SetPassword)
	}
	for _, e := range got.SetPassword.UserErrors {
		return e.Code
	}
	return ""
}

type shownSession struct {
	ID                    string
	CreatedAt, LastUsedAt time.Time
	IsCurrent             bool
	Device                *string
}

func sessionsOf(t *testing.T, as *apptest.Server) []shownSession {
	t.Helper()
	var got struct {
		Me struct{ Sessions []shownSession }
	}
	as.Must(t, mySessions, nil, &got)
	return got.Me.Sessions
}

// passwordLogin logs in by password and returns the error code, or "", and the cookie.
func passwordLogin(t *testing.T, s *apptest.Server, phone, password string) (code string, cookie *http.Cookie) {
	t.Helper()
	var in loginAnswer
	a := s.Do(t, logIn, map[string]any{"input": map[string]any{"phone": phone, "password": password}}, &in)
	for _, e := range in.Login.UserErrors {
		code = e.Code
	}
	return code, cookieOf(a)
}

// Each request comes from another address.
func TestOtherClientsCannotLockOutAnOwner(t *testing.T) {
	testkit.SkipIfShort(t)
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		const phone, password = "13800001111", "correct horse"
		stack.Config.TrustedProxies = []string{"127.0.0.1"}
		s := stack.Start(t)
		from := func(as *apptest.Server, i int) *apptest.Server {
			return as.With("X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
		}
		owner, id := browser(t, from(s, 1), phone)
		newPassword(t, owner, phone, password)
		for i := range 6 {
			if code, cookie := passwordLogin(t, from(s, 10+i), phone, "wrong horse"); code != "INVALID_CREDENTIALS" || cookie != nil {
				t.Errorf("attempt %d: %q, %v", i, code, cookie)
			}
		}
		if code, _ := passwordLogin(t, from(s, 20), phone, password); code != "" {
			t.Errorf("the owner's right password: %q", code)
		}
		// Other networks use up the shared budget.
		for i := range 60 {
			passwordLogin(t, from(s, 30+i), phone, "wrong horse")
		}
		if code, _ := passwordLogin(t, from(s, 100), phone, password); code != "INVALID_CREDENTIALS" {
			t.Errorf("beyond the limit: %q", code)
		}
		code, cookie := passwordLogin(t, from(owner, 1), phone, password)
		if code != "" || cookie == nil || me(t, owner) != id {
			t.Errorf("the known device: %q, %v", code, cookie)
		}
	})
}

func TestDeviceCookieIsScopedToTheAPI(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Config.TrustedProxies = []string{"127.0.0.1"}
	s := stack.Start(t)
	const phone = "13800001111"
	for scheme, secure := range map[string]bool{"https": true, "http": false} {
		as := s.With("X-Forwarded-Proto", scheme)
		other := fmt.Sprintf("1380000111%d", len(scheme))
		a := as.Do(t, logIn, map[string]any{"input": map[string]any{"phone": other, "code": as.Code(t, other)}}, nil)
		c := cookieOf(a)
		if c == nil {
			t.Fatal("no cookie is set")
		}
		want := http.Cookie{Name: c.Name, Value: c.Value, Raw: c.Raw, Path: "/graphql", MaxAge: 180 * 24 * 3600, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
		if d := gocmp.Diff(want, *c); d != "" {
			t.Errorf("by %s (-want +got)\n%s", scheme, d)
		}
		if len(c.Value) != 64 {
			t.Errorf("got a value of %d characters, want 64", len(c.Value))
		}
	}
	owner, _ := browser(t, s, phone)
	if me(t, owner.With("Authorization", "")) != "" {
		t.Error("the cookie alone is a session")
	}
	// Only a successful login sets a cookie.
	for _, query := range []string{meQuery, `mutation { login(input: {phone: "13800001111", code: "000000"}) { token } }`, `mutation { sendLoginCode(phone: "13800002222") { userErrors { code } } }`} {
		if a := owner.Do(t, query, nil, nil); len(a.Cookies) > 0 {
			t.Errorf("%s sets %v", query, a.Cookies)
		}
	}
	// A login on a socket has no response header that could set one.
	answer, _ := dial(t, s, "").ask(t, `mutation { login(input: {phone: "13800003333", code: "`+s.Code(t, "13800003333")+`"}) { user { id } } }`)
	if !strings.Contains(answer, `"user":{"id"`) {
		t.Errorf("the login on a socket: %s", answer)
	}
}

func TestUsersSeeAndEndTheirSessions(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		const phone = "13800001111"
		ann, id := browser(t, s.With("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"), phone)
		newPassword(t, ann, phone, "correct horse")
		token, _ := s.LoginWith(t, map[string]any{"phone": phone, "password": "correct horse"})
		other, _ := s.LoginWith(t, map[string]any{"phone": phone, "password": "correct horse"})
		ben, _ := s.Login(t, "13800002222")
		list := sessionsOf(t, ann)
		current := 0
		for _, one := range list {
			if one.IsCurrent {
				current++
				if one.Device == nil || *one.Device != "Firefox 132 on Linux" {
					t.Errorf("got device %v", one.Device)
				}
			}
			if since := time.Since(one.CreatedAt); since < 0 || since > time.Minute || one.LastUsedAt.Before(one.CreatedAt) {
				t.Errorf("created at %v, last used at %v", one.CreatedAt, one.LastUsedAt)
			}
		}
		if len(list) != 3 || current != 1 {
			t.Fatalf("got %d sessions, %d current, want 3 and 1", len(list), current)
		}
		for name, as := range map[string]*apptest.Server{"another user": ben, "no user": s} {
			a := as.Do(t, `{ user(id: "`+id+`") { sessions { id } } }`, nil, nil)
			if string(a.Data) != `{"user":{"sessions":null}}` {
				t.Errorf("%s sees %s", name, a.Data)
			}
		}
		end := func(as *apptest.Server, id string) (code string, left int) {
			t.Helper()
			var got struct {
				EndSession struct {
					User       *struct{ Sessions []struct{ ID string } }
					UserErrors []apptest.UserError
				}
			}
			as.Must(t, endSession, map[string]any{"id": id}, &got)
			for _, e := range got.EndSession.UserErrors {
				return e.Code, 0
			}
			return "", len(got.EndSession.User.Sessions)
		}
		var own, victim string
		for _, one := range sessionsOf(t, s.As(token)) {
			if one.IsCurrent {
				victim = one.ID
			}
		}
		for _, one := range list {
			if one.IsCurrent {
				own = one.ID
			}
		}
		if code, _ := end(ben, victim); code != "NOT_FOUND" || me(t, s.As(token)) != id {
			t.Errorf("another user ends the session: got %q", code)
		}
		if c := code(t, ann.Do(t, endSession, map[string]any{"id": id}, nil)); c != "BAD_USER_INPUT" {
			t.Errorf("a user's id: %q", c)
		}
		for name, query := range map[string]string{"endSession": `mutation { endSession(id: "` + victim + `") { user { id } } }`, "endOtherSessions": endOthers} {
			if c := code(t, s.Do(t, query, nil, nil)); c != "UNAUTHENTICATED" {
				t.Errorf("%s signed out: %q", name, c)
			}
		}
		open := dial(t, s, token)
		open.acknowledged(t)
		open.follow(t, `subscription { orderUpdates { id } }`, nil)
		closed := closes(t, open)
		if code, left := end(ann, victim); code != "" || left != 2 {
			t.Errorf("end a session: got %q, %d left, want 2", code, left)
		}
		if code := <-closed; code != 4403 {
			t.Errorf("the socket of the session was closed with %d, want 4403", code)
		}
		testkit.Eventually(t, 10*time.Second, func() bool { return me(t, s.As(token)) == "" })
		ann.Must(t, endOthers, nil, nil)
		testkit.Eventually(t, 10*time.Second, func() bool { return me(t, s.As(other)) == "" })
		if len(sessionsOf(t, ann)) != 1 {
			t.Error("other sessions are left")
		}
		// The end of the current session is a logout.
		a := ann.Do(t, `mutation { endSession(id: "`+own+`") { user { id sessions { id } } } updateProfile(input: {nickname: "Ann"}) { user { id } } }`, nil, nil)
		if code(t, a) != "UNAUTHENTICATED" || me(t, ann) != "" {
			t.Errorf("after the end of the current session: %s %+v", a.Data, a.Errors)
		}
	})
}

func TestSetPasswordNeedsMoreThanAToken(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	const phone = "13800001111"
	ann, _ := browser(t, s, phone)
	var got map[string]json.RawMessage
	ann.Must(t, `mutation { setPassword(password: "Attacker-pass-1") { user { id } userErrors { code field } } }`, nil, &got)
	if want := `{"user":null,"userErrors":[{"code":"INVALID_CODE","field":["code"]}]}`; string(got["setPassword"]) != want {
		t.Errorf("got %s, want %s", got["setPassword"], want)
	}
	for _, weak := range []string{"password", "12345678", phone, "+86 " + phone} {
		if c := refusal(t, ann, map[string]any{"p": weak, "code": "000000"}); c != "INVALID_INPUT" {
			t.Errorf("%q: %q", weak, c)
		}
	}
	newPassword(t, ann, phone, "correct horse")
	if c := refusal(t, ann, map[string]any{"p": "Attacker-pass-1"}); c != "INVALID_CREDENTIALS" {
		t.Errorf("the token alone: %q", c)
	}
	if c := refusal(t, ann, map[string]any{"p": "Attacker-pass-1", "current": "wrong horse"}); c != "INVALID_CREDENTIALS" {
		t.Errorf("a wrong password: %q", c)
	}
	if c := refusal(t, ann, map[string]any{"p": "battery staple", "current": "correct horse"}); c != "" {
		t.Errorf("the current password: %q", c)
	}
}
