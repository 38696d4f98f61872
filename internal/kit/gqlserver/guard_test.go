package gqlserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

type enteredKey struct{}

// answered is what came back.
type answered struct {
	status int
	text   string
	later  bool // it says when to try again
}

// beside serves a handler beside a door that says who it thinks asks.
func beside(t *testing.T, cfg Config) (*house, func(headers map[string]string) answered) {
	t.Helper()
	s := openHouse(t, cfg)
	server := httptest.NewServer(s.server.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, network := CallerOf(r.Context())
		entered, _ := r.Context().Value(enteredKey{}).(string)
		_, _ = io.WriteString(w, user+"|"+network+"|"+entered)
	})))
	t.Cleanup(server.Close)
	return s, func(headers map[string]string) answered {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answered{res.StatusCode, string(text), res.Header.Get("Retry-After") != ""}
	}
}

func TestWhoAsksBesideTheDoorIsKnownAsAtTheDoor(t *testing.T) {
	admit := func(ctx context.Context, c Credentials) AuthResult {
		a := named(ctx, c)
		a.WithContext = func(ctx context.Context) context.Context {
			return context.WithValue(ctx, enteredKey{}, "entered "+a.User)
		}
		return a
	}
	_, send := beside(t, Config{Authenticate: admit, TrustedProxies: localProxy(t), AllowedOrigins: []string{"https://app.example"}})
	tests := []struct {
		name    string
		headers map[string]string
		status  int
		want    string
	}{
		{"nobody", nil, 200, "|127.0.0.1/32|entered "},
		{"behind a proxy", map[string]string{"X-Forwarded-For": "203.0.113.7"}, 200, "|203.0.113.7/32|entered "},
		{"a user", map[string]string{"Authorization": "Bearer ann"}, 200, "ann|127.0.0.1/32|entered ann"},
		{"a page of its own", map[string]string{"Sec-Fetch-Site": "same-origin"}, 200, "|127.0.0.1/32|entered "},
		{"a page of a friend", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://app.example"}, 200, "|127.0.0.1/32|entered "},
		{"a page of anybody", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403, ""},
		{"an old browser", map[string]string{"Origin": "https://evil.example"}, 403, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := send(tt.headers)
			if got.status != tt.status || tt.status == 200 && got.text != tt.want || tt.status == 403 && firstCode([]byte(got.text)) != errcode.CSRF {
				t.Errorf("%+v, want %d %s", got, tt.status, tt.want)
			}
		})
	}
}

func TestWhatIsBesideTheDoorSharesItsRate(t *testing.T) {
	s, send := beside(t, Config{Authenticate: named, Limits: Limits{AnonymousRate: 1, AnonymousBurst: 2, UserRate: 1, UserBurst: 1}})
	if res, text := s.ask(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON}); res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	for i, want := range []int{200, 429} {
		got := send(nil)
		if got.status != want || want == 429 && (!got.later || firstCode([]byte(got.text)) != errcode.RateLimited) {
			t.Errorf("request %d: %+v, want %d", i+1, got, want)
		}
	}
	if got := send(map[string]string{"Authorization": "Bearer ann"}); got.status != 200 || !strings.HasPrefix(got.text, "ann|") {
		t.Errorf("a user: %+v", got)
	}
}

func TestAnOperationKnowsItsCaller(t *testing.T) {
	s := openHouse(t, Config{Authenticate: named})
	var user, network string
	s.server.exec.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		user, network = CallerOf(ctx)
		return next(ctx)
	})
	s.ask(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann"})
	if user != "ann" || network != "127.0.0.1/32" {
		t.Errorf("user %q from %q", user, network)
	}
	if user, network := CallerOf(t.Context()); user != "" || network != "" {
		t.Errorf("without a request: user %q from %q", user, network)
	}
}

func TestAHandlerBesideTheDoorAnswersPreflights(t *testing.T) {
	s := openHouse(t, Config{AllowedOrigins: []string{ours}})
	reached := false
	beside := s.server.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	tests := []struct {
		name, method, origin string
		status               int
		allowed, headers     string
		reaches              bool
	}{
		{"a page that may", http.MethodOptions, ours, 204, ours, "content-type,tandian-beacon", false},
		{"a page that may not", http.MethodOptions, "https://evil.example", 204, "", "", false},
		{"the request of a page that may", http.MethodPost, ours, 200, ours, "", true},
		{"the request of a page that may not", http.MethodPost, "https://evil.example", 403, "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reached = false
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "/", nil)
			r.Header.Set("Origin", tt.origin)
			if tt.method == http.MethodOptions {
				r.Header.Set("Access-Control-Request-Method", http.MethodPost)
				r.Header.Set("Access-Control-Request-Headers", "content-type,tandian-beacon")
			}
			w := httptest.NewRecorder()
			beside.ServeHTTP(w, r)
			h := w.Header()
			if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != tt.allowed || h.Get("Access-Control-Allow-Headers") != tt.headers || reached != tt.reaches {
				t.Errorf("%d, reached: %v, %v; want %+v", w.Code, reached, h, tt)
			}
			if !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
				t.Errorf("Vary: %q", h.Values("Vary"))
			}
		})
	}
}
