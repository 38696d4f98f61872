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

type viewerKey struct{}

// A guardResponse is a response of a guarded handler.
type guardResponse struct {
	status int
	text   string
	retry  bool // whether it has a Retry-After header
}

// newGuarded serves a handler behind Guard. The handler returns the caller that it sees.
func newGuarded(t *testing.T, cfg Config) (*testServer, func(headers map[string]string) guardResponse) {
	t.Helper()
	s := newTestServer(t, cfg)
	server := httptest.NewServer(s.server.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, network := CallerOf(r.Context())
		viewer, _ := r.Context().Value(viewerKey{}).(string)
		_, _ = io.WriteString(w, user+"|"+network+"|"+viewer)
	})))
	t.Cleanup(server.Close)
	return s, func(headers map[string]string) guardResponse {
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
		return guardResponse{res.StatusCode, string(text), res.Header.Get("Retry-After") != ""}
	}
}

func TestGuardIdentifiesCallerLikeServer(t *testing.T) {
	admit := func(ctx context.Context, c Credentials) AuthResult {
		a := tokenAsUser(ctx, c)
		a.WithContext = func(ctx context.Context) context.Context {
			return context.WithValue(ctx, viewerKey{}, "viewer "+a.User)
		}
		return a
	}
	_, send := newGuarded(t, Config{Authenticate: admit, TrustedProxies: localProxy(t), AllowedOrigins: []string{"https://app.example"}})
	tests := []struct {
		name    string
		headers map[string]string
		status  int
		want    string
	}{
		{"anonymous", nil, 200, "|127.0.0.1/32|viewer "},
		{"behind a proxy", map[string]string{"X-Forwarded-For": "203.0.113.7"}, 200, "|203.0.113.7/32|viewer "},
		{"user", map[string]string{"Authorization": "Bearer ann"}, 200, "ann|127.0.0.1/32|viewer ann"},
		{"own page", map[string]string{"Sec-Fetch-Site": "same-origin"}, 200, "|127.0.0.1/32|viewer "},
		{"page of an allowed origin", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://app.example"}, 200, "|127.0.0.1/32|viewer "},
		{"foreign page", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403, ""},
		{"foreign page in an old browser", map[string]string{"Origin": "https://evil.example"}, 403, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := send(tt.headers)
			if got.status != tt.status || tt.status == 200 && got.text != tt.want || tt.status == 403 && firstCode([]byte(got.text)) != errcode.CSRF {
				t.Errorf("got %+v, want %d %s", got, tt.status, tt.want)
			}
		})
	}
}

func TestGuardSharesRateWithServer(t *testing.T) {
	s, send := newGuarded(t, Config{Authenticate: tokenAsUser, Limits: Limits{AnonymousRate: 1, AnonymousBurst: 2, UserRate: 1, UserBurst: 1}})
	if res, text := s.do(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON}); res.StatusCode != 200 {
		t.Fatalf("got %d %s, want 200", res.StatusCode, text)
	}
	for i, want := range []int{200, 429} {
		got := send(nil)
		if got.status != want || want == 429 && (!got.retry || firstCode([]byte(got.text)) != errcode.RateLimited) {
			t.Errorf("request %d: got %+v, want %d", i+1, got, want)
		}
	}
	if got := send(map[string]string{"Authorization": "Bearer ann"}); got.status != 200 || !strings.HasPrefix(got.text, "ann|") {
		t.Errorf("user: got %+v, want 200 for ann", got)
	}
}

func TestOperationKnowsItsCaller(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser})
	var user, network string
	s.server.exec.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		user, network = CallerOf(ctx)
		return next(ctx)
	})
	s.do(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer ann"})
	if user != "ann" || network != "127.0.0.1/32" {
		t.Errorf("got user %q from %q, want ann from 127.0.0.1/32", user, network)
	}
	if user, network := CallerOf(t.Context()); user != "" || network != "" {
		t.Errorf("without a request: got user %q from %q, want none", user, network)
	}
}

func TestGuardAnswersPreflights(t *testing.T) {
	s := newTestServer(t, Config{AllowedOrigins: []string{allowedOrigin}})
	reached := false
	guarded := s.server.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	tests := []struct {
		name, method, origin string
		status               int
		allowed, headers     string
		wantReached          bool
	}{
		{"preflight of an allowed page", http.MethodOptions, allowedOrigin, 204, allowedOrigin, "content-type,tandian-beacon", false},
		{"preflight of a foreign page", http.MethodOptions, "https://evil.example", 204, "", "", false},
		{"request of an allowed page", http.MethodPost, allowedOrigin, 200, allowedOrigin, "", true},
		{"request of a foreign page", http.MethodPost, "https://evil.example", 403, "", "", false},
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
			guarded.ServeHTTP(w, r)
			h := w.Header()
			if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != tt.allowed || h.Get("Access-Control-Allow-Headers") != tt.headers || reached != tt.wantReached {
				t.Errorf("got %d, reached: %v, %v, want %+v", w.Code, reached, h, tt)
			}
			if !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
				t.Errorf("got Vary %q, want Origin in it", h.Values("Vary"))
			}
		})
	}
}
