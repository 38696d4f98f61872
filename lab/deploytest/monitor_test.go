//go:build deploy

package deploytest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// notShown lists metrics without a panel, with the reason.
var notShown = map[string]string{ //nolint:gochecknoglobals // a constant that Go cannot say
	"tandian_redis_pool_wait_seconds":           "how often callers wait says enough",
	"tandian_go_sql_idle_connections":           "what is open and not in use",
	"tandian_go_sql_max_idle_closed_total":      "how the pool keeps itself small",
	"tandian_go_sql_max_idle_time_closed_total": "how the pool keeps itself small",
	"tandian_go_sql_max_lifetime_closed_total":  "how the pool keeps itself small",
	"tandian_build_info":                        "a version, and no figure",
}

// The queries of the dashboard and of the alerts run against a server with traffic, Debian's
// exporters and a real Prometheus with the real configuration.
func TestMonitorPanelsAndAlertsHaveData(t *testing.T) {
	m := startMonitor(t)
	panels := m.panels(t)
	if len(panels) < 150 {
		t.Fatalf("%d queries of panels", len(panels))
	}
	traffic := newTraffic(t, m.server, m.people)
	left := panels
	last := map[string]string{}
	for end := time.Now().Add(45 * time.Second); len(left) > 0 && time.Now().Before(end); {
		for range 4 {
			traffic.step(t)
		}
		var empty []panelQuery
		for _, q := range left {
			if why := m.values(t, q.expr); why != "" {
				empty, last[q.String()] = append(empty, q), why
			}
		}
		left = empty
	}
	for _, q := range left {
		t.Errorf("%s: %s", q, last[q.String()])
	}
	exposed := m.names(t)
	m.rules(t)
	m.allShown(t, panels, exposed)
}

// A monitor runs the monitoring of docker-compose.yml around a server.
type monitor struct {
	server     *apptest.Server
	people     []string // tokens; the first is an administrator's, the second a merchant's
	prometheus string   // URL
}

func startMonitor(t *testing.T) *monitor {
	t.Helper()
	program := Program(t, "prometheus")
	redisExporter := Program(t, "prometheus-redis-exporter", "redis_exporter")
	postgresExporter := Program(t, "prometheus-postgres-exporter", "postgres_exporter")

	stack := apptest.Real(t)
	stack.Config.RedisURL = testkit.Redis(t, "--maxmemory", "256mb", "--maxmemory-policy", "noeviction", "--appendonly", "yes")
	stack.Config.RedisCacheURL = testkit.Redis(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu")
	stack.Config.LogReader = "auto"
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "300", "--shops", "20", "--tokens", path)
	m := &monitor{server: stack.Start(t)}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		m.people = append(m.people, fields[2])
	}

	targets := map[string]string{"server-1:9090": strings.TrimPrefix(m.server.URL, "http://"), "server-2:9090": ""}
	for target, address := range map[string]string{"redis-exporter-state:9121": stack.Config.RedisURL, "redis-exporter-cache:9121": stack.Config.RedisCacheURL} {
		targets[target] = loopback(t)
		runProgram(t, []string{"REDIS_USER=exporter", "REDIS_PASSWORD=exporter"}, redisExporter, "-redis.addr", address, "-web.listen-address", targets[target])
	}
	targets["postgres-exporter:9187"] = loopback(t)
	runProgram(t, []string{"DATA_SOURCE_NAME=" + monitorRole(t, stack)}, postgresExporter, "--web.listen-address="+targets["postgres-exporter:9187"])

	listen := loopback(t)
	targets["localhost:9090"] = listen
	m.prometheus = "http://" + listen
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, localConfig(t, targets), 0o600); err != nil {
		t.Fatal(err)
	}
	runProgram(t, nil, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen)
	testkit.Eventually(t, 20*time.Second, func() bool {
		return m.values(t, `count(up == 1) == 5`) == ""
	})
	return m
}

// localConfig returns the real file with other targets, and a scrape each second.
func localConfig(t *testing.T, targets map[string]string) []byte {
	t.Helper()
	text, err := os.ReadFile(File("deploy/prometheus/prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config["global"] = map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
	rules, err := filepath.Abs(File("deploy/prometheus/alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config["rule_files"] = []string{rules}
	for _, job := range config["scrape_configs"].([]any) {
		for _, group := range job.(map[string]any)["static_configs"].([]any) {
			group := group.(map[string]any)
			var local []string
			for _, target := range group["targets"].([]any) {
				address, known := targets[target.(string)]
				if !known {
					t.Fatalf("prometheus.yml asks %s, which is not in this test", target)
				}
				if address != "" {
					local = append(local, address)
				}
			}
			group["targets"] = local
		}
	}
	text, err = yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// monitorRole creates the read-only monitoring role of the docs, and returns its address.
func monitorRole(t *testing.T, stack *apptest.Stack) string {
	t.Helper()
	db, role := stack.SQL(t), "monitor_"+strings.ToLower(rand.Text()[:10])
	if _, err := db.ExecContext(t.Context(), "CREATE ROLE "+role+" LOGIN IN ROLE pg_monitor"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(stack.Config.DatabaseURL)
	if err != nil {
		t.Fatal("the test database has no URL")
	}
	u.User = url.User(role)
	return u.String()
}

// loopback returns a free address.
func loopback(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// runProgram runs a program until the test is over.
func runProgram(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // always "killed"
		if t.Failed() {
			t.Logf("%s: …%s", filepath.Base(name), log.Bytes()[max(0, log.Len()-2000):])
		}
	})
}

// get queries the API of Prometheus. It fails the test unless Prometheus has not started yet.
func (m *monitor) get(t *testing.T, path string, args url.Values, data any) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.prometheus+path+"?"+args.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusServiceUnavailable {
		return false
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Status != "success" {
		t.Fatalf("%s %v: %s", path, args, answer.Error)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		t.Fatal(err)
	}
	return true
}

// values returns why a query shows nothing; "" if it has a series with a number.
func (m *monitor) values(t *testing.T, expr string) string {
	t.Helper()
	var data struct {
		ResultType string
		Result     []struct{ Value [2]any }
	}
	if !m.get(t, "/api/v1/query", url.Values{"query": {expr}}, &data) {
		return "Prometheus does not answer"
	}
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			return ""
		}
	}
	return fmt.Sprintf("%d series, none with a number: %s", len(data.Result), expr)
}

func (m *monitor) names(t *testing.T) []string {
	t.Helper()
	var names []string
	if !m.get(t, "/api/v1/label/__name__/values", nil, &names) {
		t.Fatal("Prometheus does not answer")
	}
	return names
}

// metricName finds metrics in a query: those in the tree begin with a word of this list.
var metricName = regexp.MustCompile(`\b(?:tandian:|tandian_|redis_|pg_|go_|process_|up\b)[a-z0-9_:]*(?:\{[^}]*\})?`) //nolint:gochecknoglobals // a constant that Go cannot say

// selectors returns the metrics of a query with their matchers.
func selectors(expr string) []string { return metricName.FindAllString(expr, -1) }

func nameOf(selector string) string {
	name, _, _ := strings.Cut(selector, "{")
	return name
}

// rules checks that every rule of alerts.yml evaluates, and that each of its selectors finds
// series: an alert on a renamed metric would never fire.
func (m *monitor) rules(t *testing.T) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct {
				Name, Query, Health, LastError, Type string
				Annotations                          map[string]string
			}
		}
	}
	if !m.get(t, "/api/v1/rules", nil, &data) {
		t.Fatal("Prometheus does not answer")
	}
	runbook, err := os.ReadFile(File("docs/operate/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			seen++
			if r.Health != "ok" {
				t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
			}
			if r.Type == "alerting" && (r.Annotations["runbook"] != "docs/operate/runbook.md#"+strings.ToLower(r.Name) || !bytes.Contains(runbook, []byte("\n#### "+r.Name+"\n"))) {
				t.Errorf("%s: the runbook %q is not in docs/operate/runbook.md", r.Name, r.Annotations["runbook"])
			}
			found := selectors(r.Query)
			if len(found) == 0 {
				t.Errorf("%s names no metric: %s", r.Name, r.Query)
			}
			for _, s := range found {
				// A class without requests has no series; that is fine.
				s = strings.ReplaceAll(s, `class="5xx"`, `class="2xx"`)
				if why := m.values(t, "count("+s+")"); why != "" {
					t.Errorf("%s: nothing is %s", r.Name, s)
				}
			}
		}
	}
	if seen < 35 {
		t.Errorf("%d rules, want all of alerts.yml", seen)
	}
}

// allShown checks that every metric of the server is on the dashboard.
func (m *monitor) allShown(t *testing.T, panels []panelQuery, exposed []string) {
	t.Helper()
	base := func(name string) string {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		return name
	}
	shown := map[string]bool{}
	for _, p := range panels {
		for _, s := range selectors(p.expr) {
			shown[base(nameOf(s))] = true
		}
	}
	for _, name := range exposed {
		if name = base(name); strings.HasPrefix(name, "tandian_") && !shown[name] && notShown[name] == "" {
			t.Errorf("no panel shows %s", name)
			shown[name] = true
		}
	}
	for name := range notShown {
		if shown[name] {
			t.Errorf("%s is shown, but listed as not shown", name)
		}
	}
}

// A panelQuery is a query of the dashboard as Grafana would send it.
type panelQuery struct{ panel, expr string }

func (q panelQuery) String() string { return q.panel + ": " + q.expr }

func (*monitor) panels(t *testing.T) (all []panelQuery) {
	t.Helper()
	text, err := os.ReadFile(File("deploy/grafana/dashboards/tandian.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	set := strings.NewReplacer("$__rate_interval", "6s", "[10m]", "[6s]", "[1h]", "[6s]", "$instance", ".*")
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			expr := set.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s has a variable that is not known: %s", p.Title, expr)
			}
			all = append(all, panelQuery{p.Title, expr})
		}
	}
	return all
}

// traffic is typical user activity, a little of everything in each step.
type traffic struct {
	server  *apptest.Server
	people  []string
	voucher string // of a flash sale
	next    int    // step
}

func newTraffic(t *testing.T, s *apptest.Server, people []string) *traffic {
	t.Helper()
	tr := &traffic{server: s, people: people}
	var made struct {
		CreateFlashVoucher struct {
			Voucher    *struct{ ID string }
			UserErrors []apptest.UserError
		}
	}
	now := time.Now()
	s.As(people[1]).Must(t, `mutation F($input: CreateFlashVoucherInput!) { createFlashVoucher(input: $input) { voucher { id } userErrors { code field } } }`, map[string]any{"input": map[string]any{
		"shopId": scalar.ID{Type: "Shop", N: 1}.String(), "title": "Noon", "payValue": 100, "faceValue": 500, "stock": 150,
		"beginsAt": now.Add(-time.Second).Format(time.RFC3339Nano), "endsAt": now.Add(time.Hour).Format(time.RFC3339Nano),
	}}, &made)
	if made.CreateFlashVoucher.Voucher == nil {
		t.Fatalf("no flash sale: %+v", made)
	}
	tr.voucher = made.CreateFlashVoucher.Voucher.ID
	s.Login(t, "13800009999")
	s.As(people[2]).Must(t, `mutation F($id: ID!) { follow(userId: $id) { userErrors { code } } }`, map[string]any{"id": scalar.ID{Type: "User", N: 2}.String()}, nil)
	tr.follow(t, people[2], `subscription { feedUpdates { __typename } }`)
	tr.follow(t, people[3], `subscription { stockUpdates(voucherId: "`+tr.voucher+`") { stock } }`)
	return tr
}

// follow reads a subscription until the test is over.
func (tr *traffic) follow(t *testing.T, token, query string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, tr.server.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", query, res.StatusCode)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, res.Body) })
	t.Cleanup(func() { cancel(); reading.Wait(); _ = res.Body.Close() })
}

func (tr *traffic) step(t *testing.T) {
	t.Helper()
	n := tr.next
	tr.next++
	buyer := tr.server.As(tr.people[4+n%(len(tr.people)-4)])
	shop := scalar.ID{Type: "Shop", N: int64(1 + n%20)}.String()
	// Responses may be refusals, for example of a sold-out sale; they are traffic too.
	do := func(as *apptest.Server, query string, variables map[string]any) {
		t.Helper()
		for _, e := range as.Do(t, query, variables, nil).Errors {
			if code := e.Extensions.Code; code == "INTERNAL" || code == "GRAPHQL_VALIDATION_FAILED" || code == "GRAPHQL_PARSE_FAILED" {
				t.Fatalf("%s: %+v", query, e)
			}
		}
	}
	order := `mutation O($v: ID!) { orderVoucher(voucherId: $v) { order { id } userErrors { code } } }`
	do(buyer, order, map[string]any{"v": tr.voucher})
	do(buyer, order, map[string]any{"v": tr.voucher})
	do(tr.server, `query S($id: ID!) { shop(id: $id) { name } }`, map[string]any{"id": shop})
	do(tr.server, `query S($id: ID!) { shop(id: $id) { name } }`, map[string]any{"id": scalar.ID{Type: "Shop", N: 99_999}.String()})
	do(tr.server, `{ shopTypes { name } hotNotes(first: 5) { edges { node { title likeCount author { nickname } } } } shops(first: 5, near: {lat: 1, lng: 2}) { edges { node { name } } } }`, nil)
	do(tr.server, `{ shop(id: "nonsense") { name } }`, nil)
	do(tr.server.As(tr.people[1]), `mutation P($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { code } } }`,
		map[string]any{"input": map[string]any{"shopId": shop, "title": fmt.Sprint("Note ", n), "content": "What there was."}})
	do(buyer, `mutation L($id: ID!) { likeNote(id: $id) { userErrors { code } } }`, map[string]any{"id": scalar.ID{Type: "Note", N: int64(1 + n)}.String()})
	do(tr.server.As(tr.people[2]), `{ me { nickname feed(first: 5) { edges { node { title } } } } }`, nil)
	do(buyer, `mutation { checkIn { pointsEarned } }`, nil)
	if n%4 == 0 {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 20+n, 20))); err != nil {
			t.Fatal(err)
		}
		buyer.Upload(t, `mutation U($file: Upload!) { uploadImage(file: $file) { userErrors { code } } }`, "a.png", file.Bytes())
	}
	res, err := http.Post(tr.server.URL+"/visit", "application/json", strings.NewReader(`{"path":"/"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

// promtool accepts the files, and each alert fires and resolves.
func TestMonitorAlertsFireAndAreSilent(t *testing.T) {
	promtool := Program(t, "promtool")
	for _, args := range [][]string{
		{"check", "config", File("deploy/prometheus/prometheus.yml")}, {"test", "rules", File("deploy/prometheus/alerts_test.yml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s %s: %v\n%s", args[0], args[1], err, out)
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert string }
		}
	}
	var cases struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	for path, into := range map[string]any{"deploy/prometheus/alerts.yml": &alerts, "deploy/prometheus/alerts_test.yml": &cases} {
		text, err := os.ReadFile(File(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range cases.Tests {
		for _, c := range test.Cases {
			if len(c.Expected) > 0 {
				fires[c.Alert] = true
			} else {
				silent[c.Alert] = true
			}
		}
	}
	seen := 0
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" { // a recording rule
				continue
			}
			if seen++; !fires[r.Alert] || !silent[r.Alert] {
				t.Errorf("%s is shown to fire: %v, to be silent: %v", r.Alert, fires[r.Alert], silent[r.Alert])
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d alerts", seen)
	}
}
