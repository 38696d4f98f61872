// Package apptest runs whole servers for tests: the real thing, over HTTP, on
// the embedded stores and on real ones.
package apptest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A Stack is a pair of stores, empty at first. Servers and commands of one
// test share it.
type Stack struct {
	Name   string
	Config config.Config // that the servers start from

	// Warm is how long servers may take to warm their caches before they are ready; 0
	// leaves them cold, as most tests need it: they count what is read.
	Warm time.Duration
}

// EachStack runs a test on the embedded stores and on Postgres and Redis.
func EachStack(t *testing.T, test func(*testing.T, *Stack)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, Embedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, Real(t)) })
}

// Embedded returns SQLite in a folder of the test and the in-process Redis.
func Embedded(tb testing.TB) *Stack {
	tb.Helper()
	return &Stack{Name: "embedded", Config: base(tb)}
}

// Real returns a migrated database on Postgres and a Redis of its own.
func Real(tb testing.TB) *Stack {
	tb.Helper()
	s := &Stack{Name: "real", Config: base(tb)}
	s.Config.DatabaseURL = storetest.Postgres(tb)
	s.Config.RedisURL = storetest.Redis(tb)
	s.Config.CodeSender, s.Config.FakePayments = "console", true // as the embedded mode has by itself
	return s
}

func base(tb testing.TB) config.Config {
	cfg := config.Default()
	cfg.Addr, cfg.DataDir, cfg.LogFormat, cfg.LogReader = "127.0.0.1:0", tb.TempDir(), "json", "off"
	cfg.DemoPictures = false // they take longer than all the rest of a start
	// Test users are young and write much. These limits are counted, and never reached.
	cfg.NotesPerUser, cfg.CommentsPerUser, cfg.LikesPerUser = 100_000, 100_000, 100_000
	cfg.FollowsPerUser, cfg.ShopsPerUser, cfg.VouchersPerUser = 100_000, 100_000, 100_000
	return cfg
}

// A Server is a running app.
type Server struct {
	*app.App
	URL    string // without a path
	Log    *Log
	Out    *Log // what people read on the terminal
	cfg    config.Config
	stop   func() error
	header http.Header // that requests have besides
	heard  *testkit.Secrets
}

// With returns the server as it is asked with a header; "" is none.
func (s *Server) With(name, value string) *Server {
	with := *s
	with.header = s.header.Clone()
	if with.header == nil {
		with.header = http.Header{}
	}
	with.header.Set(name, value)
	return &with
}

// As returns the server as somebody asks it who has a session.
func (s *Server) As(token string) *Server {
	s.heard.Add(token)
	return s.With("Authorization", "Bearer "+token)
}

// At returns another server as whoever asks s asks it.
func (s *Server) At(other *Server) *Server {
	return other.With("Authorization", s.header.Get("Authorization"))
}

// Login logs a phone in by a code, which must be printed on the server's
// terminal, and returns the server as that user asks it, and the user's id. A
// phone can do so once a minute.
func (s *Server) Login(tb testing.TB, phone string) (as *Server, id string) {
	tb.Helper()
	token, id := s.LoginWith(tb, map[string]any{"phone": phone, "code": s.Code(tb, phone)})
	return s.As(token), id
}

// Code has a login code sent to a phone and reads it from the terminal.
func (s *Server) Code(tb testing.TB, phone string) string {
	tb.Helper()
	var sent struct {
		SendLoginCode struct{ ExpiresInSeconds int }
	}
	s.Must(tb, `mutation S($phone: String!) { sendLoginCode(phone: $phone) { expiresInSeconds } }`, map[string]any{"phone": phone}, &sent)
	if sent.SendLoginCode.ExpiresInSeconds == 0 {
		tb.Fatal("no code was sent")
	}
	lines := regexp.MustCompile(`login code for \S*`+regexp.QuoteMeta(phone[len(phone)-4:])+`: (\d{6}) `).FindAllStringSubmatch(s.Out.String(), -1)
	if len(lines) == 0 {
		tb.Fatalf("the terminal shows no code:\n%s", s.Out)
	}
	code := lines[len(lines)-1][1]
	s.heard.Add(code)
	return code
}

// LoginWith logs in with what LoginInput has and returns the token and the
// user's id.
func (s *Server) LoginWith(tb testing.TB, input map[string]any) (token, id string) {
	tb.Helper()
	var in struct {
		Login struct {
			Token      string
			User       struct{ ID string }
			UserErrors []UserError
		}
	}
	s.Must(tb, `mutation L($input: LoginInput!) { login(input: $input) { token user { id } userErrors { code message field } } }`, map[string]any{"input": input}, &in)
	if len(in.Login.UserErrors) > 0 {
		tb.Fatalf("not logged in: %+v", in.Login.UserErrors)
	}
	s.heard.Add(in.Login.Token)
	return in.Login.Token, in.Login.User.ID
}

// A UserError is why a mutation did not do its work.
type UserError struct {
	Code, Message string
	Field         []string
}

// Start starts a server on the stack and waits until it is ready. It stops
// with the test, or before by [Server.Stop]. The keys that are in Redis at the end
// of the test must follow the table in ARCHITECTURE.md.
func (s *Stack) Start(tb testing.TB) *Server {
	tb.Helper()
	log, out := &Log{}, &Log{}
	cfg := s.Config
	a, err := app.New(&cfg, observe.NewLogger(log, "json", slog.LevelDebug), out)
	if err != nil {
		tb.Fatal(err)
	}
	if a.WarmWithin(s.Warm); s.Warm == 0 {
		a.WarmWithin(-1)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	var stopped atomic.Bool
	stop := sync.OnceValue(func() error { stopped.Store(true); cancel(); return <-done })
	select {
	case <-a.Ready():
	case err := <-done:
		cancel()
		tb.Fatalf("the server did not start: %v\n%s", err, log)
	case <-time.After(3 * time.Minute): // a busy machine took more than one for the demo town with its pictures
		tb.Fatalf("the server was not ready within three minutes: %v\n%s", stop(), log)
	}
	server := &Server{App: a, URL: "http://" + a.Addr(), Log: log, Out: out, cfg: cfg, stop: stop, heard: &testkit.Secrets{}}
	tb.Cleanup(func() {
		if !stopped.Load() { // a Redis in the server's process ends with it
			checkKeys(tb, a, cfg)
		}
		if err := stop(); err != nil {
			tb.Errorf("the server did not stop well: %v", err)
		}
		for _, line := range server.secrets().Leaks(log.String()) {
			tb.Errorf("the log shows a secret: %s", line)
		}
		if tb.Failed() {
			tb.Logf("warnings and errors of the server:\n%s", log.complaints())
		}
	})
	return server
}

// checkKeys looks at the keys of a running server, with clients that nothing was
// done to where there can be others.
func checkKeys(tb testing.TB, a *app.App, cfg config.Config) {
	if cfg.RedisURL == "" {
		if one, ok := a.Components().State.(*redis.Client); ok {
			keytable.Check(tb, one.WithTimeout(keytable.Patience), cfg.RedisPrefix)
		}
		return
	}
	for _, url := range []string{cfg.RedisURL, cfg.RedisCacheURL} {
		if url == "" {
			continue
		}
		rdb, err := redisdb.OpenRedis(redisdb.RedisConfig{URL: url, Role: "test", Timeout: keytable.Patience, TLS: cfg.RedisTLS()}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
		if err != nil {
			tb.Error(err)
			continue
		}
		keytable.Check(tb, rdb, cfg.RedisPrefix)
		_ = rdb.Close()
	}
}

// Recovered waits until the server has recovered what a Redis that it sees for the
// first time may have lost. Until then it forgets what is cached, and does jobs of the
// outbox again, also where it runs no workers. Nothing watches the embedded Redis.
func (s *Server) Recovered(tb testing.TB) {
	tb.Helper()
	for url, rdb := range map[string]redis.UniversalClient{s.cfg.RedisURL: s.Components().State, s.cfg.RedisCacheURL: s.Components().Cache} {
		if url == "" {
			continue
		}
		testkit.Eventually(tb, 20*time.Second, func() bool {
			n, err := rdb.Exists(tb.Context(), s.cfg.RedisPrefix+":incarnation").Result()
			if err != nil {
				tb.Fatal(err)
			}
			return n == 1
		})
	}
}

// Stop ends the server as Ctrl-C would and returns what Run returned.
func (s *Server) Stop() error { return s.stop() }

// Command runs a command of the program on the stack, as from a shell, and
// returns its output and exit code.
func (s *Stack) Command(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	settings := []string{
		"tandian", "--addr", s.Config.Addr, "--data-dir", s.Config.DataDir, "--redis-prefix", s.Config.RedisPrefix,
		"--database-url", s.Config.DatabaseURL, "--redis-url", s.Config.RedisURL, "--redis-cache-url", s.Config.RedisCacheURL,
		"--redis-ca", s.Config.RedisCA, "--redis-cert", s.Config.RedisCert, "--redis-key", s.Config.RedisKey,
		"--start-timeout", s.Config.StartTimeout.String(),
	}
	var out, errs bytes.Buffer
	code = app.Main(tb.Context(), append(settings, args...), &out, &errs)
	for _, line := range new(testkit.Secrets).Leaks(errs.String()) {
		tb.Errorf("the log of the command shows a secret: %s", line)
	}
	return out.String(), errs.String(), code
}

// Seed runs the command of that name, which must do well, and returns what it printed.
// Without pictures, which take longer than all the rest of it; a later --pictures has them.
func (s *Stack) Seed(tb testing.TB, args ...string) (stdout string) {
	tb.Helper()
	out, errs, code := s.Command(tb, append([]string{"seed", "--pictures=false"}, args...)...)
	if code != 0 {
		tb.Fatalf("seed %q: %d\n%s%s", args, code, out, errs)
	}
	return out
}

// An Answer is what a GraphQL request got.
type Answer struct {
	Data    json.RawMessage
	Errors  []Error
	Cookies []*http.Cookie `json:"-"`
}

// An Error is an error of an answer.
type Error struct {
	Message    string
	Path       []any
	Extensions struct {
		Code              string
		RetryAfterSeconds int
	}
}

// spoken finds what a document says in plain words that no log may show.
var spoken = regexp.MustCompile(`(?:password|code): *"([^"]{4,})"`)

// listen notes what of a request no log may show.
func (s *Server) listen(query string, variables any) {
	for _, m := range spoken.FindAllStringSubmatch(query, -1) {
		s.heard.Add(m[1])
	}
	values, _ := variables.(map[string]any)
	for name, v := range values {
		if text, ok := v.(string); ok && (name == "password" || name == "code") && len(text) >= 4 {
			s.heard.Add(text)
		}
		s.listen("", v)
	}
}

// secrets are what the test heard, and what stood on the terminal.
func (s *Server) secrets() *testkit.Secrets {
	for _, m := range regexp.MustCompile(`login code for \S*: (\d{6})|password (\S+)`).FindAllStringSubmatch(s.Out.String(), -1) {
		s.heard.Add(m[1] + m[2])
	}
	return s.heard
}

// Do sends a GraphQL request and decodes its data into data, unless that is
// nil. Errors are for the caller to look at.
func (s *Server) Do(tb testing.TB, query string, variables map[string]any, data any) Answer {
	tb.Helper()
	s.listen(query, variables)
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		tb.Fatal(err)
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, s.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name := range s.header {
		if value := s.header.Get(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	a := Answer{Cookies: res.Cookies()}
	if err := json.Unmarshal(text, &a); err != nil {
		tb.Fatalf("answer %d is no JSON: %v\n%s", res.StatusCode, err, text)
	}
	if data != nil && len(a.Errors) == 0 {
		if err := json.Unmarshal(a.Data, data); err != nil {
			tb.Fatalf("answer does not fit: %v\n%s", err, text)
		}
	}
	return a
}

// Upload sends a file as the variable file of a mutation, as the GraphQL multipart request
// specification has it. Errors are for the caller to look at.
func (s *Server) Upload(tb testing.TB, query, filename string, content []byte) (a Answer) {
	tb.Helper()
	operations, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"file": nil}})
	if err != nil {
		tb.Fatal(err)
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	file := io.Discard
	err = errors.Join(parts.WriteField("operations", string(operations)), parts.WriteField("map", `{"0":["variables.file"]}`))
	if err == nil {
		file, err = parts.CreateFormFile("0", filename)
	}
	if err == nil {
		_, err = file.Write(content)
	}
	if err = errors.Join(err, parts.Close()); err != nil {
		tb.Fatal(err)
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, s.URL+"/graphql", &body)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", parts.FormDataContentType())
	req.Header.Set("GraphQL-Require-Preflight", "1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		tb.Fatalf("answer %d is no JSON: %v", res.StatusCode, err)
	}
	return a
}

// Must is [Server.Do] for a request that must have no errors.
func (s *Server) Must(tb testing.TB, query string, variables map[string]any, data any) {
	tb.Helper()
	if a := s.Do(tb, query, variables, data); len(a.Errors) > 0 {
		tb.Fatalf("errors of %s\n%+v", strings.TrimSpace(query), a.Errors)
	}
}

// Counter returns a metric of the server as [Server.Metric] does. It fails the test
// if the server has no such metric.
func (s *Server) Counter(tb testing.TB, name string, labels ...string) float64 {
	tb.Helper()
	sum, known := s.Metric(tb, name, labels...)
	if !known {
		tb.Fatalf("there is no metric %s", name)
	}
	return sum
}

// Metric returns the sum of the counters, gauges or numbers of observations with
// this name and these labels. It reports false if the server has no such metric.
func (s *Server) Metric(tb testing.TB, name string, labels ...string) (sum float64, known bool) {
	tb.Helper()
	families, err := s.Metrics().Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		known = true
		for _, m := range f.GetMetric() {
			has := map[string]string{}
			for _, l := range m.GetLabel() {
				has[l.GetName()] = l.GetValue()
			}
			fits := true
			for i := 0; i+1 < len(labels); i += 2 {
				fits = fits && has[labels[i]] == labels[i+1]
			}
			if fits {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum, known
}

// SQL opens the stack's database beside the servers.
func (s *Stack) SQL(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: s.Config.DatabaseURL, DataDir: s.Config.DataDir})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db.DB
}

// Log collects what a server logs. It is safe for concurrent use.
type Log struct{ testkit.Log }

// Lines decodes the log.
func (l *Log) Lines(tb testing.TB) []map[string]any {
	tb.Helper()
	var lines []map[string]any
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			tb.Fatalf("a log line is no JSON: %v\n%s", err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// complaints are the lines above INFO.
func (l *Log) complaints() string {
	var b strings.Builder
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}
