// Package apptest runs whole servers for tests over HTTP, on embedded and on real stores.
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
	"github.com/tandian-dev/tandian/internal/cli"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A Stack is a database and a Redis, initially empty. Servers and commands of one test share it.
type Stack struct {
	Name   string
	Config config.Config // of servers started later

	// Warm limits the cache warm-up before servers are ready. 0 disables it, since most tests count
	// reads.
	Warm time.Duration
}

// EachStack runs a test on the embedded stores and on Postgres and Redis.
func EachStack(t *testing.T, test func(*testing.T, *Stack)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, Embedded(t)) })
	t.Run("real", func(t *testing.T) { test(t, Real(t)) })
}

// Embedded returns SQLite in a test directory and the in-process Redis.
func Embedded(tb testing.TB) *Stack {
	tb.Helper()
	return &Stack{Name: "embedded", Config: base(tb)}
}

// Real returns a migrated Postgres database and a private Redis.
func Real(tb testing.TB) *Stack {
	tb.Helper()
	s := &Stack{Name: "real", Config: base(tb)}
	s.Config.DatabaseURL = storetest.Postgres(tb)
	s.Config.RedisURL = storetest.Redis(tb)
	s.Config.CodeSender, s.Config.FakePayments = "console", true // defaults of the embedded mode
	return s
}

func base(tb testing.TB) config.Config {
	cfg := config.Default()
	cfg.Addr, cfg.DataDir, cfg.LogFormat, cfg.LogReader = "127.0.0.1:0", tb.TempDir(), "json", "off"
	cfg.DemoPictures = false // slower than the rest of the start
	// Test users are new accounts and write much. They never reach these limits.
	cfg.NotesPerUser, cfg.CommentsPerUser, cfg.LikesPerUser = 100_000, 100_000, 100_000
	cfg.FollowsPerUser, cfg.ShopsPerUser, cfg.VouchersPerUser = 100_000, 100_000, 100_000
	return cfg
}

// A Server is a running app.
type Server struct {
	*app.App
	URL    string // without a path
	Log    *Log
	Out    *Log // terminal output
	cfg    config.Config
	stop   func() error
	header http.Header // additional request headers
	seen   *testkit.Secrets
}

// With returns a copy of the server that sends a request header. The value "" removes it.
func (s *Server) With(name, value string) *Server {
	with := *s
	with.header = s.header.Clone()
	if with.header == nil {
		with.header = http.Header{}
	}
	with.header.Set(name, value)
	return &with
}

// As returns a copy of the server with the session of a token.
func (s *Server) As(token string) *Server {
	s.seen.Add(token)
	return s.With("Authorization", "Bearer "+token)
}

// OnServer returns a copy of other with the session of s.
func (s *Server) OnServer(other *Server) *Server {
	return other.With("Authorization", s.header.Get("Authorization"))
}

// Login logs a phone in with a code from the server's terminal output. It returns a copy of the
// server with the session, and the user's id. A phone can log in once a minute.
func (s *Server) Login(tb testing.TB, phone string) (as *Server, id string) {
	tb.Helper()
	token, id := s.LoginWith(tb, map[string]any{"phone": phone, "code": s.Code(tb, phone)})
	return s.As(token), id
}

// Code requests a login code for a phone and reads it from the terminal output.
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
	s.seen.Add(code)
	return code
}

// LoginWith logs in with a LoginInput and returns the token and the user's id.
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
	s.seen.Add(in.Login.Token)
	return in.Login.Token, in.Login.User.ID
}

// A UserError is the reason for a rejected mutation.
type UserError struct {
	Code, Message string
	Field         []string
}

// Start starts a server on the stack and waits until it is ready. The server stops with the test, or
// earlier by [Server.Stop]. At the end of the test, Start checks the log for secrets and the keys in
// Redis against the table in docs/redis-keys.md.
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
	case <-time.After(3 * time.Minute): // demo data with pictures takes more than a minute on a busy machine
		tb.Fatalf("the server was not ready within three minutes: %v\n%s", stop(), log)
	}
	server := &Server{App: a, URL: "http://" + a.Addr(), Log: log, Out: out, cfg: cfg, stop: stop, seen: &testkit.Secrets{}}
	tb.Cleanup(func() {
		if !stopped.Load() { // an embedded Redis ends with its server
			checkKeys(tb, a, cfg)
		}
		if err := stop(); err != nil {
			tb.Errorf("stop the server: %v", err)
		}
		for _, line := range server.secrets().Leaks(log.String()) {
			tb.Errorf("the log shows a secret: %s", line)
		}
		if tb.Failed() {
			tb.Logf("warnings and errors of the server:\n%s", log.warnings())
		}
	})
	return server
}

// checkKeys checks the Redis keys of a running server. It opens new clients if possible, because the
// test may have modified the server's clients.
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

// Recovered waits until the server has recovered for each real Redis, which it does for a Redis that
// it sees for the first time. A recovery invalidates cached data and repeats outbox jobs, even
// without workers.
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

// Stop ends the server like Ctrl-C and returns the result of Run.
func (s *Server) Stop() error { return s.stop() }

// Command runs a command of the program on the stack and returns its output and exit code. It fails
// the test if the log contains a secret.
func (s *Stack) Command(tb testing.TB, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	settings := []string{
		"tandian", "--addr", s.Config.Addr, "--data-dir", s.Config.DataDir, "--redis-prefix", s.Config.RedisPrefix,
		"--database-url", s.Config.DatabaseURL, "--redis-url", s.Config.RedisURL, "--redis-cache-url", s.Config.RedisCacheURL,
		"--redis-ca", s.Config.RedisCA, "--redis-cert", s.Config.RedisCert, "--redis-key", s.Config.RedisKey,
		"--start-timeout", s.Config.StartTimeout.String(),
	}
	var out, errs bytes.Buffer
	code = cli.Main(tb.Context(), append(settings, args...), &out, &errs)
	for _, line := range new(testkit.Secrets).Leaks(errs.String()) {
		tb.Errorf("the log of the command shows a secret: %s", line)
	}
	return out.String(), errs.String(), code
}

// Seed runs the command seed, which must succeed, and returns its output. It generates no pictures,
// because they are slow; the argument --pictures enables them.
func (s *Stack) Seed(tb testing.TB, args ...string) (stdout string) {
	tb.Helper()
	out, errs, code := s.Command(tb, append([]string{"seed", "--pictures=false"}, args...)...)
	if code != 0 {
		tb.Fatalf("seed %q: %d\n%s%s", args, code, out, errs)
	}
	return out
}

// An Answer is the response to a GraphQL request.
type Answer struct {
	Data    json.RawMessage
	Errors  []Error
	Cookies []*http.Cookie `json:"-"`
}

// An Error is an error of a response.
type Error struct {
	Message    string
	Path       []any
	Extensions struct {
		Code              string
		RetryAfterSeconds int
	}
}

// secretLiteral matches literal passwords and codes in a document.
var secretLiteral = regexp.MustCompile(`(?:password|code): *"([^"]{4,})"`)

// recordSecrets records the passwords and codes of a request.
func (s *Server) recordSecrets(query string, variables any) {
	for _, m := range secretLiteral.FindAllStringSubmatch(query, -1) {
		s.seen.Add(m[1])
	}
	values, _ := variables.(map[string]any)
	for name, v := range values {
		if text, ok := v.(string); ok && (name == "password" || name == "code") && len(text) >= 4 {
			s.seen.Add(text)
		}
		s.recordSecrets("", v)
	}
}

// secrets returns the secrets of all requests and of the terminal output.
func (s *Server) secrets() *testkit.Secrets {
	for _, m := range regexp.MustCompile(`login code for \S*: (\d{6})|password (\S+)`).FindAllStringSubmatch(s.Out.String(), -1) {
		s.seen.Add(m[1] + m[2])
	}
	return s.seen
}

// Do sends a GraphQL request and decodes its data into data, unless data is nil or the answer has
// errors.
func (s *Server) Do(tb testing.TB, query string, variables map[string]any, data any) Answer {
	tb.Helper()
	s.recordSecrets(query, variables)
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
		tb.Fatalf("decode answer with status %d: %v\n%s", res.StatusCode, err, text)
	}
	if data != nil && len(a.Errors) == 0 {
		if err := json.Unmarshal(a.Data, data); err != nil {
			tb.Fatalf("decode data of answer: %v\n%s", err, text)
		}
	}
	return a
}

// Upload sends a mutation with a file as the variable "file", as the GraphQL multipart request
// specification describes.
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
		tb.Fatalf("decode answer with status %d: %v", res.StatusCode, err)
	}
	return a
}

// Must is like [Server.Do], but fails the test if the answer has errors.
func (s *Server) Must(tb testing.TB, query string, variables map[string]any, data any) {
	tb.Helper()
	if a := s.Do(tb, query, variables, data); len(a.Errors) > 0 {
		tb.Fatalf("errors of %s\n%+v", strings.TrimSpace(query), a.Errors)
	}
}

// Counter is like [Server.Metric], but fails the test if the metric does not exist.
func (s *Server) Counter(tb testing.TB, name string, labels ...string) float64 {
	tb.Helper()
	sum, known := s.Metric(tb, name, labels...)
	if !known {
		tb.Fatalf("metric %s not found", name)
	}
	return sum
}

// Metric returns the sum of the counters, gauges and observation counts with this name and these
// labels, given as name and value pairs. known is false if the server has no metric of this name.
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

// SQL opens the stack's database until the test ends, independently of the servers.
func (s *Stack) SQL(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: s.Config.DatabaseURL, DataDir: s.Config.DataDir})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db.DB
}

// Log collects the log of a server. It is safe for concurrent use.
type Log struct{ testkit.Log }

// Lines decodes the log, one JSON object per line.
func (l *Log) Lines(tb testing.TB) []map[string]any {
	tb.Helper()
	var lines []map[string]any
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			tb.Fatalf("decode log line: %v\n%s", err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// warnings returns the lines of the levels WARN and ERROR.
func (l *Log) warnings() string {
	var b strings.Builder
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}
