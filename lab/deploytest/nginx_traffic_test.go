//go:build deploy

package deploytest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const typename = `{"query":"{ __typename }"}`

// post sends a GraphQL document, without variables, and returns its answer.
func post(t *testing.T, client *http.Client, base string, headers ...string) (answer, error) {
	t.Helper()
	return try(t, client, http.MethodPost, base+"/graphql", typename, append(headers, "Content-Type: application/json")...)
}

func TestNginxHidesOperatorEndpoints(t *testing.T) {
	p := startPair(t, nil)
	for _, path := range []string{
		"/metrics", "/metrics/", "//metrics", "/%6detrics", "/metrics?x", "/x/../metrics", "/./metrics", "/metrics%2f", "/metrics;x", "/metrics%3f",
		"/readyz", "//readyz", "/%72eadyz", "/readyz/",
	} {
		a := ask(t, http.MethodGet, p.URL+path)
		if a.status != http.StatusNotFound || strings.Contains(a.body, "tandian_") || strings.Contains(a.body, "ready") {
			t.Errorf("%s: %d %.100s", path, a.status, a.body)
		}
	}
	if n := p.asked(t, "/metrics") + p.asked(t, "/readyz"); n != 0 {
		t.Errorf("the servers got %d requests", n)
	}
	if a := ask(t, http.MethodGet, p.URL+"/healthz"); a.status != http.StatusOK || a.cache() != "" {
		t.Errorf("/healthz: %d %q", a.status, a.cache())
	}
	// Nothing else is cached either.
	for _, path := range []string{"/", "/playground", "/shops", "/demo/logins", "/visit", "/webhooks/payment", "/favicon.svg"} {
		if a := ask(t, http.MethodGet, p.URL+path, "Accept: text/html"); a.cache() != "" || a.status >= 500 {
			t.Errorf("%s: %d, cache %q", path, a.status, a.cache())
		}
	}
	page := ask(t, http.MethodGet, p.URL+"/", "Accept-Encoding: br")
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Permissions-Policy", "X-Request-Id"} {
		if len(page.header.Values(name)) != 1 {
			t.Errorf("the page has %s: %v", name, page.header.Values(name))
		}
	}
	if page.header.Get("Content-Encoding") != "br" {
		t.Errorf("the page is encoded as %q", page.header.Get("Content-Encoding"))
	}
	// The request id of a client is in the server's response and in nginx's log. Its query string
	// is in neither.
	a := ask(t, http.MethodGet, p.URL+"/?secret=hush", "X-Request-Id: honest-id-1")
	if got := a.header.Get("X-Request-Id"); got != "honest-id-1" {
		t.Errorf("the request's id became %q", got)
	}
	if a = ask(t, http.MethodGet, p.URL+"/", `X-Request-Id: x","forged":"y`); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a.header.Get("X-Request-Id")) {
		t.Errorf("a bad id became %q", a.header.Get("X-Request-Id"))
	}
	testkit.Eventually(t, 5*time.Second, func() bool { return strings.Contains(p.log("access.log"), `"id":"honest-id-1"`) })
	if strings.Contains(p.log("access.log"), "hush") {
		t.Error("the log shows a query string")
	}
}

func TestNginxSetsTheClientAddress(t *testing.T) {
	p := startPair(t, func(s *apptest.Stack) { s.Config.RateAnonymous = 2 })
	liar, other := from("127.0.0.2"), from("127.0.0.3")
	refused, passed := 0, 0
	for i := range 40 {
		// If the header were trusted, each request would be another client, with a rate of its own.
		forged := fmt.Sprintf("203.0.113.%d", i)
		a, err := post(t, liar, p.URL, "X-Forwarded-For: "+forged, "X-Real-Ip: "+forged, "Forwarded: for="+forged)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.status == http.StatusTooManyRequests:
			refused++
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After header")
			}
		case a.status == http.StatusOK:
			passed++
		}
	}
	if refused < 20 || passed < 4 {
		t.Errorf("of 40 requests of one client %d passed and %d were refused", passed, refused)
	}
	if a, err := post(t, other, p.URL); err != nil || a.status != http.StatusOK {
		t.Errorf("another client: %v %d", err, a.status)
	}
}

func TestNginxLetsPageOriginsReachSockets(t *testing.T) {
	p := startPair(t, nil)
	for origin, ok := range map[string]bool{p.URL: true, "http://evil.example": false, "http://127.0.0.1": false} {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(p.URL, "http", "ws", 1)+"/graphql", &websocket.DialOptions{ //nolint:bodyclose // an upgrade has none
			Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {origin}},
		})
		if (err == nil) != ok {
			t.Errorf("a socket of a page of %s: %v", origin, err)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	// Only WebSockets are upgraded.
	if a := ask(t, http.MethodGet, p.URL+"/healthz", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"); a.status != http.StatusOK {
		t.Errorf("h2c: %d", a.status)
	}
}

func TestSocketsThroughNginxGetPingsAndShutdown(t *testing.T) {
	p := startPair(t, func(s *apptest.Stack) { s.Config.Limits = []string{"ping=200ms"} })
	anna := p.login(t, "13800001111")
	var pings atomic.Int64
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(p.URL, "http", "ws", 1)+"/graphql", &websocket.DialOptions{ //nolint:bodyclose // an upgrade has none
		Subprotocols:   []string{"graphql-transport-ws"},
		OnPingReceived: func(context.Context, []byte) bool { pings.Add(1); return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	send := func(text string) {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	messages, closed := make(chan string, 100), make(chan error, 1)
	go func() {
		for {
			_, text, err := conn.Read(context.WithoutCancel(t.Context()))
			if err != nil {
				closed <- err
				return
			}
			if !strings.Contains(string(text), `"type":"ping"`) {
				messages <- string(text)
				continue
			}
			pings.Add(1)
			if err := conn.Write(context.WithoutCancel(t.Context()), websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
				closed <- err
				return
			}
		}
	}()
	next := func() string {
		t.Helper()
		select {
		case m := <-messages:
			return m
		case err := <-closed:
			t.Fatalf("the socket ended: %v", err)
		case <-time.After(10 * time.Second):
			t.Fatal("no message within 10 s")
		}
		return ""
	}
	send(`{"type":"connection_init","payload":{"Authorization":"` + bearerOf(t, anna) + `"}}`)
	if m := next(); !strings.Contains(m, "connection_ack") {
		t.Fatal(m)
	}
	send(`{"type":"subscribe","id":"f","payload":{"query":"subscription { feedUpdates { __typename } }"}}`)
	if m := next(); !strings.Contains(m, "FeedReady") {
		t.Fatal(m)
	}
	testkit.Eventually(t, 10*time.Second, func() bool { return pings.Load() >= 8 })
	select {
	case err := <-closed:
		t.Fatalf("an idle socket ended: %v", err)
	default:
	}
	stopped := make(chan error, 1)
	go func() { stopped <- errors.Join(p.servers[0].Stop(), p.servers[1].Stop()) }()
	select {
	case err := <-closed:
		if code := websocket.CloseStatus(err); code != websocket.StatusServiceRestart {
			t.Errorf("closed with %d (%v), want 1012", code, err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the socket is still open")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// All time-outs of the configuration exceed the longest silence of a socket or stream.
func TestNginxWaitsLongerThanSocketsAndStreamsAreSilent(t *testing.T) {
	text, err := os.ReadFile(File("deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	_, graphql, _ := strings.Cut(string(text), "location = /graphql {")
	graphql, _, _ = strings.Cut(graphql, "\n        }")
	security, err := os.ReadFile(File("docs/operate/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("\\| `ping` \\| (\\S+) \\|").FindSubmatch(security)
	if m == nil {
		t.Fatal("docs/operate/security.md has no ping")
	}
	ping, err := time.ParseDuration(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"proxy_read_timeout", "proxy_send_timeout"} {
		m := regexp.MustCompile(name + ` (\S+);`).FindStringSubmatch(graphql)
		if m == nil {
			t.Fatalf("/graphql has no %s", name)
		}
		if d, err := time.ParseDuration(m[1]); err != nil || d <= 2*ping {
			t.Errorf("%s is %v (%v), no more than two pings of %v", name, d, err, ping)
		}
	}
}

func TestNginxDoesNotBufferEventStreams(t *testing.T) {
	p := startPair(t, nil)
	p.stack.Seed(t, "--shops=1")
	anna, bob := p.login(t, "13800001111"), p.login(t, "13800002222")
	var who struct{ Me struct{ ID string } }
	bob.Must(t, `{ me { id } }`, nil, &who)
	anna.Must(t, `mutation F($id: ID!) { follow(userId: $id) { userErrors { code } } }`, map[string]any{"id": who.Me.ID}, nil)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/graphql", strings.NewReader(`{"query":"subscription { feedUpdates { __typename } }"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream", "Authorization": bearerOf(t, anna)} {
		req.Header.Set(name, value)
	}
	res, err := plain.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	events := make(chan string, 10)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- data
			}
		}
	}()
	next := func(want string) {
		t.Helper()
		select {
		case e := <-events:
			if !strings.Contains(e, want) {
				t.Fatalf("got %q, want %s", e, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %s within 10 s", want)
		}
	}
	next("FeedReady") // before the next one exists
	photo := upload(t, p.through(bob), picture(64, 64))
	var found struct {
		Shops struct {
			Edges []struct{ Node struct{ ID string } }
		}
	}
	bob.Must(t, `{ shops(first: 1) { edges { node { id } } } }`, nil, &found)
	var published struct {
		PublishNote struct{ UserErrors []apptest.UserError }
	}
	bob.Must(t, publishNote, map[string]any{"input": map[string]any{"shopId": found.Shops.Edges[0].Node.ID, "title": "Noodles", "content": "They are good.", "images": []string{photo}}}, &published)
	if len(published.PublishNote.UserErrors) > 0 {
		t.Fatalf("%+v", published.PublishNote.UserErrors)
	}
	next("FeedNote")
	for _, name := range []string{"X-Cache-Status", "X-Accel-Buffering"} {
		if v := res.Header.Get(name); v != "" {
			t.Errorf("%s: %s", name, v)
		}
	}
}

const publishNote = `mutation P($input: PublishNoteInput!) { publishNote(input: $input) { note { id } userErrors { code message } } }`

// noise returns a square PNG of random pixels, which no compression makes smaller: three bytes
// each.
func noise(side int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	r := mathrand.NewChaCha8([32]byte{1})
	_, _ = r.Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestUploadsPassNginxUpToTheLimitOfTheServer(t *testing.T) {
	p := startPair(t, nil)
	anna := p.through(p.login(t, "13800001111"))
	large := noise(1850)
	if len(large) < 10_200_000 || len(large) > 10<<20 {
		t.Fatalf("the picture has %d bytes", len(large))
	}
	path := upload(t, anna, large)
	if a := ask(t, http.MethodGet, p.URL+path); a.status != http.StatusOK {
		t.Errorf("the picture: %d", a.status)
	}
	// A rejection before the file is read reaches the client, though nginx is still sending the
	// file.
	for range 5 {
		if a := p.through(p.servers[0]).With("X-Nobody", "1").Upload(t, uploadImage, "a.png", large); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "UNAUTHENTICATED" {
			t.Errorf("anonymous client: got errors %+v", a.Errors)
		}
	}
	// Above its limit the server rejects the file; far above, nginx does, with the same message.
	for bytes, who := range map[int]string{11<<20 + 1000: "server", 13 << 20: "nginx"} {
		before := p.asked(t, "/graphql")
		a := anna.Upload(t, uploadImage, "a.png", make([]byte, bytes))
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "PAYLOAD_TOO_LARGE" {
			t.Errorf("%d bytes: %+v", bytes, a.Errors)
		}
		if asked := p.asked(t, "/graphql") > before; asked != (who == "server") {
			t.Errorf("%d bytes are not rejected by the %s", bytes, who)
		}
	}
	if a, err := try(t, plain, http.MethodPost, p.URL+"/visit", strings.Repeat("x", 65<<10)); err != nil || a.status != http.StatusRequestEntityTooLarge ||
		!strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("a long visit: %v %d", err, a.status)
	}
	if a := ask(t, http.MethodGet, p.URL+"/graphql?query="+strings.Repeat("x", 17<<10)); a.status != http.StatusRequestURITooLong || !strings.Contains(a.body, "PAYLOAD_TOO_LARGE") {
		t.Errorf("a long query string: %d %.100s", a.status, a.body)
	}
}

// Readers do not notice the kill of a server. Requests that it may have processed are not sent
// again.
func TestAKilledServerLosesNoGETBehindNginx(t *testing.T) {
	Program(t, "nginx")
	program := filepath.Join(t.TempDir(), "tandian")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, File(".")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stack := apptest.Real(t)
	var addrs []string
	var processes []*exec.Cmd
	for range 2 {
		addr := "127.0.0.1:" + freePort(t)
		cmd := exec.CommandContext(t.Context(), program, "--addr", addr, "--trusted-proxies", "127.0.0.1", "--log-reader", "off", "--redis-prefix", stack.Config.RedisPrefix, "--data-dir", t.TempDir())
		cmd.Env = append(os.Environ(), "DATABASE_URL="+stack.Config.DatabaseURL, "REDIS_URL="+stack.Config.RedisURL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		addrs, processes = append(addrs, addr), append(processes, cmd)
	}
	for _, addr := range addrs {
		testkit.Eventually(t, time.Minute, func() bool {
			a, err := try(t, plain, http.MethodGet, "http://"+addr+"/readyz", "")
			return err == nil && a.status == http.StatusOK
		})
	}
	e := startNginx(t, addrs)
	query := e.URL + "/graphql?query=%7Bshops(first:5)%7Bedges%7Bnode%7Bname%7D%7D%7D%7D"
	var got, failed atomic.Int64
	var ended atomic.Bool
	defer ended.Store(true)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for !ended.Load() {
				a, err := try(t, plain, http.MethodGet, query, "")
				if err != nil || a.status != http.StatusOK {
					failed.Add(1)
					t.Errorf("a reader got %v %d %.100s", err, a.status, a.body)
				}
				got.Add(1)
			}
		})
	}
	testkit.Eventually(t, time.Minute, func() bool { return got.Load() > 200 })
	for _, addr := range addrs {
		if !strings.Contains(e.log("access.log"), `"server":"`+addr+`"`) {
			t.Errorf("%s got no requests", addr)
		}
	}
	if err := processes[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = processes[0].Wait()
	dead := got.Load()
	testkit.Eventually(t, time.Minute, func() bool { return got.Load() > dead+200 })
	ended.Store(true)
	readers.Wait()
	t.Logf("%d reads, %d failed", got.Load(), failed.Load())
	// No server listens there: a POST also goes to the other one, because it was not sent.
	for range 20 {
		if a, err := post(t, plain, e.URL); err != nil || a.status != http.StatusOK {
			t.Errorf("a POST: %v %d", err, a.status)
		}
	}
}

func TestNginxSendsNoPOSTASecondTime(t *testing.T) {
	var asked atomic.Int64
	_, addr := stub(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	})
	_, other := stub(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	})
	e := startNginx(t, []string{addr, other})
	a, err := post(t, plain, e.URL)
	if err != nil || a.status != http.StatusServiceUnavailable || asked.Load() != 1 {
		t.Errorf("POST to a dying server: got %v %d after %d requests", err, a.status, asked.Load())
	}
	asked.Store(0)
	if a := ask(t, http.MethodGet, e.URL+"/graphql?query=x"); a.status != http.StatusServiceUnavailable || asked.Load() != 2 {
		t.Errorf("GET to dying servers: got %d after %d requests", a.status, asked.Load())
	}
}

// While a server starts, the other one responds.
func TestNginxSkipsAStartingServer(t *testing.T) {
	Program(t, "nginx")
	stack := apptest.Real(t)
	stack.Config.TrustedProxies = []string{"127.0.0.1"}
	ready := stack.Start(t)
	late := stack.Config
	late.DatabaseURL = "postgres://nobody@127.0.0.1:" + freePort(t) + "/nothing?sslmode=disable" // it waits for it
	a, err := app.New(&late, observe.NewLogger(&apptest.Log{}, "json", slog.LevelError), &apptest.Log{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	late.Addr = "127.0.0.1:" + freePort(t)
	go func() { done <- a.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server that started: %v", err)
		}
	}()
	testkit.Eventually(t, 10*time.Second, func() bool {
		a, err := try(t, plain, http.MethodGet, "http://"+late.Addr+"/readyz", "")
		return err == nil && a.status == http.StatusServiceUnavailable
	})
	e := startNginx(t, []string{late.Addr, ready.Addr()})
	begin := time.Now()
	for i := range 50 {
		for _, path := range []string{"/", "/graphql?query=%7B__typename%7D", fmt.Sprintf("/media/%040d-1.png", i)} {
			if a := ask(t, http.MethodGet, e.URL+path); a.status >= 500 {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("150 GETs took %v", took)
	}
	var failed atomic.Int64
	var writers sync.WaitGroup
	for range 10 {
		writers.Go(func() {
			for range 10 {
				if a, err := post(t, plain, e.URL); err != nil || a.status != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	writers.Wait()
	// A POST cannot be retried on the other server. So the starting one delays it and gets few
	// more, since it has the most connections. With an immediate refusal, half of the requests
	// failed.
	if n := failed.Load(); n > 20 {
		t.Errorf("%d of 100 POSTs failed", n)
	}
}

// During a rolling update, a page gets its assets from any server that has them.
func TestNginxFindsAnAssetThatOneServerHas(t *testing.T) {
	old := func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
	_, a := stub(t, old)
	_, b := stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/assets/new.js" {
			old(w, r)
		}
	})
	e := startNginx(t, []string{a, b})
	for range 4 {
		if got := ask(t, http.MethodGet, e.URL+"/assets/new.js", "Authorization: x"); got.status != http.StatusOK {
			t.Errorf("the asset of the new server: %d", got.status)
		}
	}
	if got := ask(t, http.MethodGet, e.URL+"/assets/none.js"); got.status != http.StatusNotFound {
		t.Errorf("an asset of none: %d", got.status)
	}
}

// The lines that are commented out with #tls are valid too.
func TestNginxWithTLS(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	secure, port := freePort(t), freePort(t)
	text, err := os.ReadFile(File("deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	var changes []change
	for line := range strings.Lines(string(text)) {
		if indent, rest, ok := strings.Cut(line, "#tls "); ok && strings.TrimSpace(indent) == "" {
			enabled := strings.NewReplacer(
				"listen 80 default_server", "listen 127.0.0.1:"+port+" default_server",
				"    listen [::]:80 default_server;", "", // there may be no IPv6 here
				"listen 443 ", "listen 127.0.0.1:"+secure+" ", "/etc/nginx/tls/", dir+"/",
			).Replace(indent + rest)
			changes = append(changes, change{line, enabled})
		}
	}
	if len(changes) < 10 {
		t.Fatalf("only %d lines for TLS", len(changes))
	}
	_ = startPair(t, nil, changes...)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	address := "https://127.0.0.1:" + secure
	a, err := try(t, client, http.MethodPost, address+"/visit", `{"path":"/"}`, "Sec-Fetch-Site: same-origin", "User-Agent: Mozilla/5.0 (X11) Firefox/140.0")
	if err != nil || a.status != http.StatusNoContent || !strings.Contains(a.header.Get("Set-Cookie"), "; Secure") || a.header.Get("Strict-Transport-Security") == "" {
		t.Errorf("a visit by https: %v %d %v", err, a.status, a.header)
	}
	conn, _, err := websocket.Dial(t.Context(), "wss://127.0.0.1:"+secure+"/graphql", &websocket.DialOptions{ //nolint:bodyclose // an upgrade has none
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {address}},
		HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}},
	})
	if err != nil {
		t.Errorf("a socket: %v", err)
	} else {
		_ = conn.CloseNow()
	}
	if a := ask(t, http.MethodGet, "http://127.0.0.1:"+port+"/shops?x=1"); a.status != http.StatusPermanentRedirect || a.header.Get("Location") != "https://127.0.0.1/shops?x=1" {
		t.Errorf("by http: %d to %s", a.status, a.header.Get("Location"))
	}
}

// certificate writes a certificate of this machine and its key, and returns a pool that trusts it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(t, filepath.Join(dir, "tls.crt"), string(public))
	write(t, filepath.Join(dir, "tls.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool
}
