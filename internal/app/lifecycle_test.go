package app_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestDataSurvivesARestart(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	first := stack.Start(t)
	centre := map[string]any{"lat": 30.2448, "lng": 120.1510, "radius": 2000}
	want, _ := walk(t, first, centre, nil, 50)
	if len(want) < 60 {
		t.Fatalf("the demo town has %d shops, want at least 60", len(want))
	}
	var types struct{ ShopTypes []struct{ ID string } }
	first.Must(t, `{ shopTypes { id } }`, nil, &types)
	used := 0
	for _, typ := range types.ShopTypes {
		if names, _ := walk(t, first, centre, map[string]any{"typeId": typ.ID}, 50); len(names) > 0 {
			used++
		}
	}
	if used < 8 {
		t.Errorf("the demo town has shops of %d types, want 8", used)
	}
	if err := first.Stop(); err != nil {
		t.Fatalf("the first server ended with %v", err)
	}
	second := stack.Start(t)
	if got, _ := walk(t, second, centre, nil, 50); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("shops after a restart:\n%v\nwant\n%v", got, want)
	}
}

func TestRunningRequestFinishesWhenServerStops(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const body = `{"query":"{ shopTypes { name } }"}`
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:10])
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, func() bool { return s.Counter(t, "tandian_http_requests_in_flight") == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	testkit.Eventually(t, 5*time.Second, func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	if _, err := io.WriteString(conn, body[10:]); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("the running request got %v", err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != 200 {
		t.Errorf("the running request got %d, %v", answer.StatusCode, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}

func TestOneProcessPerDataDirectory(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Start(t)
	_, errs, code := stack.Command(t, "seed", "--shops", "1")
	if code != 1 || !strings.Contains(errs, fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a second process: %d, %s; want 1 and the id of the first", code, errs)
	}
}

func TestEmbeddedRedisOnPostgresAdmitsOneInstance(t *testing.T) {
	stack := apptest.Real(t)
	stack.Config.RedisURL = ""
	first := stack.Start(t)
	_, errs, code := stack.Command(t, "seed", "--shops", "1")
	if code != 1 || !strings.Contains(errs, "database is in use by other processes") {
		t.Errorf("a second process: %d, %s", code, errs)
	}
	shared := *stack
	shared.Config.RedisURL = testkit.Redis(t)
	if _, errs, code = shared.Command(t, "seed", "--shops", "1"); code != 1 || !strings.Contains(errs, "database is in use by a process with an embedded Redis") {
		t.Errorf("a second process with a Redis: %d, %s", code, errs)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	stack.Seed(t, "--shops", "1")
	shared.Start(t)
	if _, errs, code := stack.Command(t, "seed", "--shops", "1"); code != 1 || !strings.Contains(errs, "database is in use by other processes") {
		t.Errorf("next to a server with a Redis: %d, %s", code, errs)
	}
}

// A server that loses its lock with the connection takes it again.
func TestLostClaimIsRetaken(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	stack.Config.RedisURL = ""
	s := stack.Start(t)
	db := stack.SQL(t)
	// It selects the claim by its key, because workers take advisory locks, too.
	const claims = `FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (classid::bigint << 32 | objid::bigint) = hashtextextended('tandian:redis', 1935764581)`
	held := func() (n int) {
		if err := db.QueryRow("SELECT count(*) " + claims).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	testkit.Eventually(t, 5*time.Second, func() bool { return held() == 1 })
	if _, err := db.Exec("SELECT pg_terminate_backend(pid) " + claims); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, func() bool { return held() == 0 })
	testkit.Eventually(t, 10*time.Second, func() bool { return held() == 1 })
	s.Must(t, `{ shopTypes { name } }`, nil, nil)
}

// Each process builds the GEO cells that its readers miss, also without workers.
func TestAPIWithoutWorkersBuildsGEOCells(t *testing.T) {
	stack := apptest.Real(t)
	importCSV(t, stack, 10)
	stack.Config.Run = []string{"api"}
	settled(t, stack.Start(t), here)
}

func TestFourInstancesStartAtOnceOnEmptyStores(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	stack.Config.DatabaseURL = testkit.Postgres(t) // not even migrated
	var starts sync.WaitGroup
	servers := make([]*apptest.Server, 4)
	for i := range servers {
		starts.Go(func() { servers[i] = stack.Start(t) })
	}
	starts.Wait()
	var versions int
	if err := stack.SQL(t).QueryRow("SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version").Scan(&versions); err != nil || versions != 0 {
		t.Errorf("got %d repeated migrations (%v)", versions, err)
	}
	for i, s := range servers {
		if s == nil {
			t.Fatal("an instance did not start")
		}
		var types struct{ ShopTypes []struct{ Name string } }
		s.Must(t, `{ shopTypes { name } }`, nil, &types)
		if len(types.ShopTypes) != 14 {
			t.Errorf("instance %d shows %d types, want 14", i, len(types.ShopTypes))
		}
	}
}

func TestNotReadyUntilTheStoresAnswer(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	// The database does not respond.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	stack.Config.DatabaseURL = "postgres://nobody@" + silent.Addr().String() + "/none?sslmode=disable"
	stack.Config.StartTimeout = 1500 * time.Millisecond
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stack.Config.Addr = free.Addr().String()
	_ = free.Close()
	done := make(chan int, 1)
	var errs string
	go func() {
		_, stderr, code := stack.Command(t, "serve")
		errs = stderr
		done <- code
	}()
	status := func(path string) int {
		res, err := http.Get("http://" + stack.Config.Addr + path)
		if err != nil {
			return 0
		}
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode
	}
	testkit.Eventually(t, time.Second, func() bool { return status("/healthz") == 200 })
	if got := status("/readyz"); got != 503 {
		t.Errorf("readyz = %d without a database, want 503", got)
	}
	if got := status("/graphql"); got != 503 {
		t.Errorf("graphql = %d without a database, want 503", got)
	}
	if got := status("/metrics"); got != 200 {
		t.Errorf("metrics = %d, want 200", got)
	}
	if code := <-done; code != 1 || !strings.Contains(errs, "does not respond") {
		t.Errorf("the start without a database: %d, %s", code, errs)
	}
}

func TestReadyzFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		s := stack.Start(t)
		get := func() (int, string) {
			res, err := http.Get(s.URL + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			text, _ := io.ReadAll(res.Body)
			return res.StatusCode, strings.TrimSpace(string(text))
		}
		if code, text := get(); code != 200 || text != "ready" {
			t.Errorf("readyz = %d %q", code, text)
		}
		_ = s.Components().DB.Close()
		if code, _ := get(); code != 503 {
			t.Errorf("readyz = %d without the database, want 503", code)
		}
	})
}

func TestRequestsAreLoggedWithIDOperationAndTime(t *testing.T) {
	stack := apptest.Embedded(t)
	s := stack.Start(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/graphql",
		strings.NewReader(`{"query":"query FindCafes { shopTypes { name } }"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "my-request-0001")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := res.Header.Get("X-Request-Id"); got != "my-request-0001" {
		t.Errorf("got request id %q", got)
	}
	var line map[string]any
	testkit.Eventually(t, time.Second, func() bool {
		for _, l := range s.Log.Lines(t) {
			if l["request_id"] == "my-request-0001" && l["msg"] == "request" {
				line = l
			}
		}
		return line != nil
	})
	if ms, ok := line["ms"].(float64); !ok || ms <= 0 || line["operation"] != "FindCafes" || line["status"] != 200.0 {
		t.Errorf("got log line %v", line)
	}
}

func TestMetricsShowEveryPart(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	s.Must(t, `{ shops(first: 1) { edges { node { type { name } } } } }`, nil, nil)
	res, err := http.Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tandian_http_request_seconds_count{class="2xx",route="/graphql"} 1`,
		`tandian_graphql_operation_seconds_count{outcome="ok",type="query"} 1`,
		`tandian_graphql_operation_seconds_count{outcome="failed",type="query"} 0`,
		`tandian_sql_statement_seconds_count{verb="select"}`,
		`tandian_go_sql_wait_count_total{db_name="main"}`,
		`tandian_redis_round_trip_seconds_count{role="state"}`,
		`tandian_redis_pool_waits{role="state"} 0`,
		`tandian_redis_breaker_open{role="state"} 0`,
		`tandian_cache_misses_total{policy="shop-type"}`,
		`tandian_shop_cells_built_total{outcome="split"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// A least-connections load balancer must not prefer a starting server.
func TestPOSTWaitsForTheEndOfTheStart(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	a, err := app.New(&cfg, slog.New(slog.DiscardHandler), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	handler := a.Handler()
	ask := func() <-chan string {
		answers := make(chan string, 1)
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", http.NoBody))
			answers <- fmt.Sprint(w.Code, " ", w.Header().Get("Retry-After"), " ", strings.TrimSpace(w.Body.String()))
		}()
		return answers
	}
	w := httptest.NewRecorder()
	begin := time.Now()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/graphql", http.NoBody))
	if took := time.Since(begin); w.Code != http.StatusServiceUnavailable || took > time.Second {
		t.Errorf("a GET: %d after %v", w.Code, took)
	}
	begin = time.Now()
	if got := <-ask(); got != "503 1 starting" {
		t.Errorf("during a long start: %s", got)
	}
	if took := time.Since(begin); took < 2*time.Second || took > 10*time.Second {
		t.Errorf("answered after %v", took)
	}
	answers := ask()
	select {
	case early := <-answers:
		t.Errorf("answered during the start: %s", early)
	case <-time.After(100 * time.Millisecond):
	}
	a.OpenWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("open")) }))
	if got := <-answers; got != "200  open" {
		t.Errorf("after the start: %s", got)
	}
}

// A client that does not read must not block the stop.
func TestEveryResponseHasAWriteDeadline(t *testing.T) {
	stack := apptest.Embedded(t)
	stack.Config.CORSOrigins = []string{"https://app.example.com"}
	s := stack.Start(t)
	handler := s.FullHandler(prometheus.NewRegistry())
	const body = `{"query":"{ __typename }"}`
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
	}{
		{"GraphQL", "POST", "/graphql", body, nil, 200},
		{"GraphQL with Expect", "POST", "/graphql", body, []string{"Expect", "100-continue"}, 200},
		{"GraphQL in a URL", "GET", "/graphql?query=%7B__typename%7D", "", nil, 200},
		{"a compressed response", "POST", "/graphql", body, []string{"Accept-Encoding", "gzip"}, 200},
		{"invalid JSON", "POST", "/graphql", "{", nil, 400},
		{"cross-site", "POST", "/graphql", body, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a preflight", "OPTIONS", "/graphql", "", []string{"Origin", "https://app.example.com", "Access-Control-Request-Method", "POST"}, 204},
		{"invalid upgrade", "GET", "/graphql", "", []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, 400},
		{"upgrade of a POST", "POST", "/graphql", body, []string{"Connection", "Upgrade", "Upgrade", "websocket"}, 405},
		{"unknown path", "GET", "/media/none", "", nil, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
			handler.ServeHTTP(w, r)
			if w.Code != tt.want || w.late {
				t.Errorf("got %d, want %d; written without a deadline: %v\n%s", w.Code, tt.want, w.late, w.Body)
			}
		})
	}
}

// timedWriter detects writes without a deadline.
type timedWriter struct {
	*httptest.ResponseRecorder
	timed, late bool
}

func (w *timedWriter) SetWriteDeadline(time.Time) error { w.timed = true; return nil }

func (w *timedWriter) WriteHeader(status int) {
	w.late = w.late || !w.timed
	w.ResponseRecorder.WriteHeader(status)
}

func (w *timedWriter) Write(p []byte) (int, error) {
	w.late = w.late || !w.timed
	return w.ResponseRecorder.Write(p)
}
