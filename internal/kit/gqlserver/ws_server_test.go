package gqlserver

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/ratelimit"
)

const (
	initMessage = `{"type":"connection_init"}`
	ack         = `{"type":"connection_ack"}`
	pingMessage = `{"type":"ping"}`
	pong        = `{"type":"pong"}`
)

// testTimeout limits each wait in tests with real connections.
const testTimeout = 20 * time.Second

// A fakeAuth authenticates a token as the user of the same name. It is safe for concurrent use.
type fakeAuth struct {
	mu        sync.Mutex
	overrides map[string]AuthResult // overrides by token
	count     int                   // calls with a token
	release   chan struct{}         // delays results for tokens until it is closed; nil for no delay
}

func (p *fakeAuth) authenticate(_ context.Context, c Credentials) AuthResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Token == "" {
		return AuthResult{}
	}
	p.count++
	if p.release != nil {
		p.mu.Unlock()
		<-p.release // ignores the context
		p.mu.Lock()
	}
	a, ok := p.overrides[c.Token]
	if !ok {
		a = AuthResult{User: c.Token}
	}
	if a.User == "panic" {
		panic("authenticate panics")
	}
	a.WithContext = func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, a.User) }
	return a
}

func (p *fakeAuth) lookups() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *fakeAuth) set(token string, to AuthResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.overrides == nil {
		p.overrides = map[string]AuthResult{}
	}
	p.overrides[token] = to
}

// A wsTestServer is a running Server for tests of sockets.
type wsTestServer struct {
	*gqltest.Schema
	server *Server
	auth   *fakeAuth
	reg    *prometheus.Registry
	url    string
	client *http.Client
	wait   time.Duration // limit of each read
}

func newWSTestServer(t testing.TB, cfg Config) *wsTestServer {
	t.Helper()
	s := &wsTestServer{Schema: gqltest.New(), auth: &fakeAuth{}, reg: prometheus.NewRegistry(), wait: testTimeout}
	cfg.Authenticate, cfg.Registerer = s.auth.authenticate, s.reg
	var err error
	if s.server, err = New(s.Executable(), cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// startServer serves on loopback connections. At the end it checks that no goroutine is left.
func startServer(t *testing.T, cfg Config) *wsTestServer {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	s := newWSTestServer(t, cfg)
	server := httptest.NewServer(s.server)
	s.url, s.client = server.URL, server.Client()
	t.Cleanup(func() {
		s.close(t)
		server.Close()
	})
	return s
}

func (s *wsTestServer) close(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := s.server.sockets.Close(ctx, 0); err != nil {
		t.Error(err)
	}
}

// closeCount returns the number of sockets that ended with a code.
func (s *wsTestServer) closeCount(code string) float64 {
	return testutil.ToFloat64(s.server.sockets.metrics.closes[code])
}

// A wsClient is a client that sends only what a test writes.
type wsClient struct {
	*testing.T
	conn *websocket.Conn
	wait time.Duration
}

// An upgradeResponse is the HTTP response to an upgrade.
type upgradeResponse struct {
	status     int
	retryAfter string
	code       string // of the error in its body
}

func (s *wsTestServer) dial(t *testing.T, header http.Header, protocols ...string) (*wsClient, upgradeResponse) {
	t.Helper()
	return s.dialWith(t, &websocket.DialOptions{HTTPHeader: header, Subprotocols: protocols})
}

// dialWith returns a nil client if the server rejects the upgrade.
func (s *wsTestServer) dialWith(t *testing.T, options *websocket.DialOptions) (*wsClient, upgradeResponse) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	options.HTTPClient = s.client
	conn, res, err := websocket.Dial(ctx, s.url, options)
	if res == nil {
		t.Fatal(err)
	}
	got := upgradeResponse{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After")}
	if err != nil {
		defer res.Body.Close()
		var body struct {
			Errors []struct{ Extensions struct{ Code string } }
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || len(body.Errors) != 1 {
			t.Fatalf("%s: got %d errors, %v, want 1", res.Status, len(body.Errors), err)
		}
		got.code = body.Errors[0].Extensions.Code
		return nil, got
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &wsClient{t, conn, s.wait}, got
}

// connect opens a socket.
func (s *wsTestServer) connect(t *testing.T) *wsClient {
	t.Helper()
	v, got := s.dial(t, nil, subprotocol)
	if v == nil {
		t.Fatalf("upgrade: got %+v, want 101", got)
	}
	return v
}

// connectAs opens a socket and waits for its acknowledgement.
func (s *wsTestServer) connectAs(t *testing.T, token string) *wsClient {
	t.Helper()
	v := s.connect(t)
	v.sendInit(token)
	return v
}

// sendInit sends connection_init and waits for its acknowledgement.
func (v *wsClient) sendInit(token string) {
	v.Helper()
	if token == "" {
		v.send(initMessage)
	} else {
		v.send(`{"type":"connection_init","payload":{"authorization":"Bearer ` + token + `"}}`)
	}
	v.wantMessages(ack)
}

func (v *wsClient) send(messages ...string) {
	v.Helper()
	for _, m := range messages {
		v.sendAs(websocket.MessageText, m)
	}
}

func (v *wsClient) sendAs(kind websocket.MessageType, m string) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), testTimeout)
	defer cancel()
	if err := v.conn.Write(ctx, kind, []byte(m)); err != nil {
		v.Fatalf("send %.80s: %v", m, err)
	}
}

func (v *wsClient) subscribe(id, query string) {
	v.Helper()
	payload, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		v.Fatal(err)
	}
	v.send(`{"type":"subscribe","id":"` + id + `","payload":` + string(payload) + `}`)
}

func (v *wsClient) read() (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context()), v.wait)
	defer cancel()
	_, text, err := v.conn.Read(ctx)
	return string(text), err
}

// wantMessages reads and compares the next messages.
func (v *wsClient) wantMessages(messages ...string) {
	v.Helper()
	var got []string
	for range messages {
		text, err := v.read()
		if err != nil {
			v.Fatalf("got %q, then %v, want %q", got, err, messages)
		}
		got = append(got, text)
	}
	if d := cmp.Diff(messages, got); d != "" {
		v.Fatalf("messages (-want +got)\n%s", d)
	}
}

// wantError reads an "error" message for an operation, with one error of that code.
func (v *wsClient) wantError(id, code string) {
	v.Helper()
	text, err := v.read()
	if err != nil {
		v.Fatal(err)
	}
	var got struct {
		Type, ID string
		Payload  []struct{ Extensions struct{ Code string } }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		v.Fatal(err)
	}
	if got.Type != messageError || got.ID != id || len(got.Payload) != 1 || got.Payload[0].Extensions.Code != code {
		v.Fatalf("got %s, want an error for %q with the code %s", text, id, code)
	}
	if strings.Contains(text, gqltest.Secret) {
		v.Errorf("%s leaks an internal error", text)
	}
}

// wantClose waits until the socket is closed. It fails on any message.
func (v *wsClient) wantClose(code websocket.StatusCode) {
	v.Helper()
	text, err := v.read()
	if err == nil {
		v.Fatalf("got %s, want the close code %d", text, code)
	}
	if got := websocket.CloseStatus(err); got != code {
		v.Fatalf("got close code %d (%v), want %d", got, err, code)
	}
}

// wantPong checks that the socket is open and has no unread message.
func (v *wsClient) wantPong() {
	v.Helper()
	v.send(pingMessage)
	v.wantMessages(pong)
}

// eventually waits until condition returns true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("timeout waiting until %s", what)
		}
	}
}

func TestSocketUpgradeChecksOriginAndProtocol(t *testing.T) {
	s := startServer(t, Config{AllowedOrigins: []string{"https://app.example.com"}})
	own := strings.TrimPrefix(s.url, "http://")
	tests := []struct {
		name      string
		origin    string
		protocols []string
		status    int
		code      string // of the error, if rejected
	}{
		{name: "no origin", protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "own origin", origin: "http://" + own, protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "allowed origin", origin: "https://app.example.com", protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "allowed host without TLS", origin: "http://app.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "foreign origin", origin: "https://evil.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "foreign origin with the prefix of our own", origin: "http://" + own + ".evil.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "sandboxed page", origin: "null", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "sub-protocol among others", protocols: []string{"graphql-ws", subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "another sub-protocol", protocols: []string{"graphql-ws"}, status: http.StatusBadRequest, code: errcode.BadRequest},
		{name: "no sub-protocol", status: http.StatusSwitchingProtocols}, // then closed, see TestProtocolErrorsHaveCloseCodes
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			if tt.origin != "" {
				header.Set("Origin", tt.origin)
			}
			v, got := s.dial(t, header, tt.protocols...)
			if d := cmp.Diff(upgradeResponse{status: tt.status, code: tt.code}, got, cmp.AllowUnexported(upgradeResponse{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if v != nil && len(tt.protocols) > 0 {
				v.wantPong()
			}
		})
	}
}

func TestProtocolErrorsHaveCloseCodes(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{InitTime: time.Second, Message: 1000}})
	const subscribe = `{"type":"subscribe","id":"1","payload":{"query":"subscription { ticks { number } }"}}`
	long := strings.Repeat("x", maxOperationID)
	tests := []struct {
		name   string
		send   []string
		binary bool // the last message
		want   []string
		code   websocket.StatusCode
	}{
		{name: "no init in time", code: 4408},
		{name: "no init in time, but pings", send: []string{pingMessage, `{"type":"pong"}`}, want: []string{pong}, code: 4408},
		{name: "subscribe before init", send: []string{subscribe}, code: 4401},
		{name: "init with a list", send: []string{`{"type":"connection_init","payload":[]}`}, code: 4400},
		{name: "init with a string", send: []string{`{"type":"connection_init","payload":"x"}`}, code: 4400},
		{name: "numeric authorization", send: []string{`{"type":"connection_init","payload":{"authorization":1}}`}, code: 4401},
		{name: "init twice", send: []string{initMessage, initMessage}, want: []string{ack}, code: 4429},
		{name: "invalid JSON", send: []string{initMessage, `{"type":"ping"`}, want: []string{ack}, code: 4400},
		{name: "empty message", send: []string{initMessage, ``}, want: []string{ack}, code: 4400},
		{name: "two messages in one frame", send: []string{initMessage, pingMessage + pingMessage}, want: []string{ack}, code: 4400},
		{name: "null", send: []string{initMessage, `null`}, want: []string{ack}, code: 4400},
		{name: "list", send: []string{initMessage, `[]`}, want: []string{ack}, code: 4400},
		{name: "string", send: []string{initMessage, `"ping"`}, want: []string{ack}, code: 4400},
		{name: "invalid UTF-8", send: []string{initMessage, "{\"type\":\"ping\",\"x\":\"\xff\"}"}, want: []string{ack}, code: 4400},
		{name: "binary frame", send: []string{initMessage, pingMessage}, binary: true, want: []string{ack}, code: 4400},
		{name: "no type", send: []string{initMessage, `{}`}, want: []string{ack}, code: 4400},
		{name: "type in capitals", send: []string{initMessage, `{"TYPE":"ping"}`}, want: []string{ack}, code: 4400},
		{name: "numeric type", send: []string{initMessage, `{"type":1}`}, want: []string{ack}, code: 4400},
		{name: "unknown type", send: []string{initMessage, `{"type":"start"}`}, want: []string{ack}, code: 4400},
		{name: "server message ack", send: []string{initMessage, ack}, want: []string{ack}, code: 4400},
		{name: "server message next", send: []string{initMessage, `{"type":"next","id":"1","payload":{}}`}, want: []string{ack}, code: 4400},
		{name: "server message error", send: []string{initMessage, `{"type":"error","id":"1","payload":[]}`}, want: []string{ack}, code: 4400},
		{name: "ping with a list", send: []string{initMessage, `{"type":"ping","payload":[]}`}, want: []string{ack}, code: 4400},
		{name: "subscribe without id", send: []string{initMessage, `{"type":"subscribe","payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "empty id", send: []string{initMessage, `{"type":"subscribe","id":"","payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "numeric id", send: []string{initMessage, `{"type":"subscribe","id":1,"payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "id too long", send: []string{initMessage, `{"type":"complete","id":"` + long + `x"}`}, want: []string{ack}, code: 4400},
		{name: "complete without id", send: []string{initMessage, `{"type":"complete"}`}, want: []string{ack}, code: 4400},
		{name: "no payload", send: []string{initMessage, `{"type":"subscribe","id":"1"}`}, want: []string{ack}, code: 4400},
		{name: "subscribe with a list", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":["{hello}"]}`}, want: []string{ack}, code: 4400},
		{name: "no query", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{}}`}, want: []string{ack}, code: 4400},
		{name: "null query", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":null}}`}, want: []string{ack}, code: 4400},
		{name: "numeric query", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":1}}`}, want: []string{ack}, code: 4400},
		{name: "list as variables", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","variables":[]}}`}, want: []string{ack}, code: 4400},
		{name: "string as extensions", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","extensions":"x"}}`}, want: []string{ack}, code: 4400},
		{name: "numeric operationName", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","operationName":1}}`}, want: []string{ack}, code: 4400},
		{name: "id in use", send: []string{initMessage, subscribe, subscribe}, want: []string{ack}, code: 4409},
		{name: "message too large", send: []string{initMessage, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 1000) + `"}}`}, want: []string{ack}, code: 1009},
		{name: "message far too large", send: []string{initMessage, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 100_000) + `"}}`}, want: []string{ack}, code: 1009},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.connect(t)
			for i, m := range tt.send {
				kind := websocket.MessageText
				if tt.binary && i == len(tt.send)-1 {
					kind = websocket.MessageBinary
				}
				v.sendAs(kind, m)
			}
			v.wantMessages(tt.want...)
			v.wantClose(tt.code)
		})
	}
	t.Run("no sub-protocol", func(t *testing.T) {
		v, _ := s.dial(t, nil)
		v.wantClose(4406)
	})
}

func TestSocketAcceptsValidMessages(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{Message: 1000}})
	hello := `{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`
	long := strings.Repeat("x", maxOperationID)
	padding := strings.Repeat("x", 1000-len(`{"type":"ping","payload":{"x":""}}`))
	tests := []struct {
		name string
		send []string
		want []string
	}{
		{"ping with payload", []string{`{"type":"ping","payload":{"a":[1, 2]}}`}, []string{`{"type":"pong","payload":{"a":[1, 2]}}`}},
		{"ping with null", []string{`{"type":"ping","payload":null}`}, []string{pong}},
		{"largest message", []string{`{"type":"ping","payload":{"x":"` + padding + `"}}`}, []string{`{"type":"pong","payload":{"x":"` + padding + `"}}`}},
		{"pongs without a ping", []string{`{"type":"pong"}`, `{"type":"pong","payload":{}}`}, nil},
		{"complete before init", []string{`{"type":"complete","id":"1"}`}, nil},
		{"init with null", []string{`{"type":"connection_init","payload":null}`}, []string{ack}},
		{"init with other members", []string{`{"type":"connection_init","payload":{"authorization":null,"other":[1]}}`}, []string{ack}},
		{"additional member", []string{initMessage, `{"type":"ping","x":{}}`}, []string{ack, pong}},
		{"complete of an unknown id", []string{initMessage, `{"type":"complete","id":"9"}`}, []string{ack}},
		{
			"null members",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","operationName":null,"variables":null,"extensions":null}}`},
			[]string{ack, hello, `{"type":"complete","id":"1"}`},
		},
		{
			"operation name and variables",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"query A { hello } query B($n: String) { hello(name: $n) }","operationName":"B","variables":{"n":"ann"}}}`},
			[]string{ack, `{"type":"next","id":"1","payload":{"data":{"hello":"hello ann"}}}`, `{"type":"complete","id":"1"}`},
		},
		{
			"mutation",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"mutation { setName(name: \"bob\") }"}}`},
			[]string{ack, `{"type":"next","id":"1","payload":{"data":{"setName":"bob"}}}`, `{"type":"complete","id":"1"}`},
		},
		{
			"subscription to its end",
			[]string{initMessage, `{"type":"subscribe","id":"s","payload":{"query":"subscription { count(to: 2) }"}}`},
			[]string{ack, `{"type":"next","id":"s","payload":{"data":{"count":1}}}`, `{"type":"next","id":"s","payload":{"data":{"count":2}}}`, `{"type":"complete","id":"s"}`},
		},
		{
			"longest id",
			[]string{initMessage, `{"type":"subscribe","id":"` + long + `","payload":{"query":"{hello}"}}`},
			[]string{ack, `{"type":"next","id":"` + long + `","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"` + long + `"}`},
		},
		{
			"id that needs quoting",
			[]string{initMessage, `{"type":"subscribe","id":"\"\\\n","payload":{"query":"{hello}"}}`},
			[]string{ack, `{"type":"next","id":"\"\\\n","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"\"\\\n"}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.connect(t)
			v.send(tt.send...)
			v.wantMessages(tt.want...)
			v.wantPong()
		})
	}
}

func TestSocketReportsErrors(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{VariableDepth: 3}})
	tests := []struct {
		name, query, variables string
		code                   string   // of an "error" message
		want                   []string // message types, if there is no code
	}{
		{name: "syntax error", query: `{`, code: errcode.ParseFailed},
		{name: "invalid document", query: `{ none }`, code: errcode.ValidationFailed},
		{name: "empty query", query: ``, code: errcode.BadRequest},
		{name: "variables too deep", query: `{ hello }`, variables: `{"a":{"b":{"c":{"d":{}}}}}`, code: errcode.BadRequest},
		{name: "failing field", query: `{ hello fail }`, want: []string{messageNext, messageComplete}},
		{name: "panicking resolver", query: `{ hello crash }`, want: []string{messageNext, messageComplete}},
		{name: "panic that gqlgen does not recover", query: `{ explode }`, want: []string{messageNext, messageComplete}},
		{name: "failing field of an event", query: `subscription { broken }`, want: []string{messageNext, messageNext, messageNext, messageComplete}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.connectAs(t, "")
			query, _ := json.Marshal(tt.query)
			payload := `{"query":` + string(query) + `,"variables":` + orNull(tt.variables) + `}`
			v.send(`{"type":"subscribe","id":"1","payload":` + payload + `}`)
			if tt.code != "" {
				v.wantError("1", tt.code)
			} else if d := cmp.Diff(tt.want, v.readTypes(len(tt.want))); d != "" {
				t.Errorf("messages (-want +got)\n%s", d)
			}
			v.wantPong() // nothing follows
		})
	}
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// readTypes returns the types of the next n messages. It fails if one leaks an internal error.
func (v *wsClient) readTypes(n int) []string {
	v.Helper()
	var types []string
	for range n {
		text, err := v.read()
		if err != nil {
			v.Fatalf("read message after %q: %v", types, err)
		}
		var m struct{ Type string }
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			v.Fatalf("decode %s: %v", text, err)
		}
		if strings.Contains(text, gqltest.Secret) {
			v.Errorf("%s leaks an internal error", text)
		}
		types = append(types, m.Type)
	}
	return types
}

func TestSocketAuthenticates(t *testing.T) {
	s := startServer(t, Config{})
	s.auth.set("bad", AuthResult{BadToken: true})
	s.auth.set("unknown", AuthResult{Unavailable: true})
	s.auth.set("panic", AuthResult{User: "panic"})
	tests := []struct {
		name    string
		header  string
		payload string
		viewer  string // JSON
		code    websocket.StatusCode
	}{
		{name: "anonymous", payload: `{}`, viewer: `null`},
		{name: "token", payload: `{"authorization":"Bearer ann"}`, viewer: `"ann"`},
		{name: "capitalized member", payload: `{"Authorization":"bearer ann"}`, viewer: `"ann"`},
		{name: "token in the header", header: "Bearer ann", payload: `null`, viewer: `"ann"`},
		{name: "payload before header", header: "Bearer bob", payload: `{"authorization":"Bearer ann"}`, viewer: `"ann"`},
		{name: "empty payload token and header", header: "Bearer bob", payload: `{"authorization":""}`, viewer: `"bob"`},
		{name: "basic authorization header", header: "Basic eDp5", payload: `{}`, viewer: `null`},
		{name: "bad token", payload: `{"authorization":"Bearer bad"}`, code: 4401},
		{name: "bad token in the header", header: "Bearer bad", payload: `{}`, code: 4401},
		{name: "token without Bearer", payload: `{"authorization":"ann"}`, code: 4401},
		{name: "under headers", payload: `{"headers":{"Authorization":"Bearer ann"}}`, viewer: `"ann"`},
		{name: "under Headers, in lower case", payload: `{"Headers":{"authorization":"BEARER ann"}}`, viewer: `"ann"`},
		{name: "in capitals", payload: `{"AUTHORIZATION":"Bearer ann"}`, viewer: `"ann"`},
		{name: "in mixed case, with spaces", payload: `{"aUTHORization":"  bEARER \t ann "}`, viewer: `"ann"`},
		{name: "authToken, as documented by Apollo", payload: `{"authToken":"ann"}`, viewer: `"ann"`},
		{name: "authToken with Bearer", payload: `{"authToken":"Bearer ann"}`, viewer: `"ann"`},
		{name: "access_token", payload: `{"access_token":"ann"}`, viewer: `"ann"`},
		{name: "token member", payload: `{"token":"ann"}`, viewer: `"ann"`},
		{name: "same token twice", payload: `{"authorization":"Bearer ann","headers":{"AUTHORIZATION":"bearer ann"},"authToken":"ann"}`, viewer: `"ann"`},
		{name: "unrelated headers", payload: `{"headers":{"x-request-id":"1","authorization-x":"Bearer ann"}}`, viewer: `null`},
		{name: "nulls", payload: `{"authorization":null,"Authorization":"","authToken":" ","headers":null}`, viewer: `null`},
		{name: "empty headers", payload: `{"headers":[]}`, viewer: `null`},
		{name: "null in headers", payload: `{"headers":{"Authorization":null}}`, viewer: `null`},
		{name: "null in headers, and a header", header: "Bearer bob", payload: `{"headers":{"Authorization":null}}`, viewer: `"bob"`},
		{name: "null and a token", payload: `{"authorization":null,"headers":{"authorization":"Bearer ann"}}`, viewer: `"ann"`},
		{name: "bad token under headers", payload: `{"headers":{"Authorization":"Bearer bad"}}`, code: 4401},
		{name: "bad token in capitals", payload: `{"AUTHORIZATION":"Bearer bad"}`, code: 4401},
		{name: "bad authToken", payload: `{"authToken":"bad"}`, code: 4401},
		{name: "another scheme under headers", payload: `{"headers":{"Authorization":"Basic eDp5"}}`, code: 4401},
		{name: "scheme without a token", payload: `{"authorization":"Bearer "}`, code: 4401},
		{name: "scheme as a token", payload: `{"authToken":"bearer"}`, code: 4401},
		{name: "two words", payload: `{"authorization":"Bearer ann bob"}`, code: 4401},
		{name: "number under headers", payload: `{"headers":{"authorization":1}}`, code: 4401},
		{name: "list under headers", payload: `{"headers":{"Authorization":["Bearer ann"]}}`, code: 4401},
		{name: "object", payload: `{"authorization":{"token":"ann"}}`, code: 4401},
		{name: "false", payload: `{"Authorization":false}`, code: 4401},
		{name: "string as headers", payload: `{"headers":"Authorization: Bearer ann"}`, code: 4401},
		{name: "pairs as headers", payload: `{"headers":[["Authorization","Bearer ann"]]}`, code: 4401},
		{name: "two tokens", payload: `{"authorization":"Bearer ann","Authorization":"Bearer bob"}`, code: 4401},
		{name: "another token under headers", payload: `{"authorization":"Bearer ann","headers":{"Authorization":"Bearer bob"}}`, code: 4401},
		{name: "token and another scheme", payload: `{"authorization":"Basic eDp5","headers":{"Authorization":"Bearer ann"}}`, code: 4401},
		{name: "another scheme and a header", header: "Bearer bob", payload: `{"authorization":"Basic eDp5"}`, code: 4401},
		{name: "lookup unavailable", payload: `{"authorization":"Bearer unknown"}`, code: 1013},
		{name: "panic in the lookup", payload: `{"authorization":"Bearer panic"}`, code: 1013},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			if tt.header != "" {
				header.Set("Authorization", tt.header)
			}
			v, _ := s.dial(t, header, subprotocol)
			v.send(`{"type":"connection_init","payload":` + tt.payload + `}`)
			if tt.code != 0 {
				v.wantClose(tt.code)
				return
			}
			v.wantMessages(ack)
			v.subscribe("1", "{ viewer }")
			v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"viewer":`+tt.viewer+`}}}`, `{"type":"complete","id":"1"}`)
		})
	}
}

func TestSocketTokenGuessesAreThrottled(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{AnonymousRate: 1, AnonymousBurst: 30}})
	s.auth.set("bad", AuthResult{BadToken: true})
	s.server.anonymous = ratelimit.New(0, 0, time.Now) // only guesses are limited in this test
	const guesses = 40
	codes := map[websocket.StatusCode]int{}
	for range guesses {
		v := s.connect(t)
		v.send(`{"type":"connection_init","payload":{"authorization":"Bearer bad"}}`)
		_, err := v.read()
		codes[websocket.CloseStatus(err)]++
	}
	if codes[4401] < 30 || codes[1013] == 0 || codes[4401]+codes[1013] != guesses || s.auth.lookups() != codes[4401] {
		t.Errorf("got close codes %v after %d lookups, want 4401 about 30 times, then 1013 without lookups", codes, s.auth.lookups())
	}
}

func TestCompleteEndsOperationAndFreesID(t *testing.T) {
	s := startServer(t, Config{})
	v := s.connectAs(t, "")
	v.subscribe("1", "subscription { ticks { text } }")
	eventually(t, "the subscription runs", func() bool { return s.Subscriptions() == 1 })
	s.Push("first")
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"ticks":{"text":"first"}}}}`)
	v.send(`{"type":"complete","id":"1"}`)
	eventually(t, "the subscription has ended", func() bool { return s.Subscriptions() == 0 })
	v.subscribe("1", "{ slow }") // the id is free
	eventually(t, "the query runs", func() bool { return s.Running("slow") == 1 })
	v.send(`{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ hello }") // even if the query has not ended
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ hello }")
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"1"}`)
	eventually(t, "the query has ended", func() bool { return s.Running("slow") == 0 })
	v.wantPong()
}

func TestExcessOperationFailsAlone(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{SocketOperations: 2}})
	v := s.connectAs(t, "")
	v.subscribe("1", "{ wait }")
	v.subscribe("2", "subscription { ticks { text } }")
	v.subscribe("3", "{ hello }")
	v.wantError("3", errcode.RateLimited)
	eventually(t, "both run", func() bool { return s.Running("wait") == 1 && s.Subscriptions() == 1 })
	s.Release()
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"wait":"released"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("3", "{ hello }")
	v.wantMessages(`{"type":"next","id":"3","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"3"}`)
}

func TestStuckOperationsStillCount(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{SocketOperations: 1}})
	v := s.connectAs(t, "ann")
	hold := make(chan struct{})
	s.auth.mu.Lock()
	s.auth.release = hold
	s.auth.mu.Unlock()
	for _, id := range []string{"1", "2"} {
		v.subscribe(id, "{ hello }")
		v.send(`{"type":"complete","id":"` + id + `"}`)
	}
	v.subscribe("3", "{ hello }")
	v.wantError("3", errcode.RateLimited)
	close(hold)
	eventually(t, "all operations have ended", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 0 })
	v.subscribe("3", "{ hello }")
	v.wantMessages(`{"type":"next","id":"3","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"3"}`)
}

func TestLargeDocumentsHoldMemoryWhileRunning(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{Memory: 800 * kb}}) // a quarter is enough for one document, not for two
	v := s.connectAs(t, "")
	large := func(c string) string {
		return "subscription { ticks { " + strings.Repeat("text ", 100) + strings.Repeat("number ", 100) + "} } #" + c
	}
	v.subscribe("1", large("x"))
	eventually(t, "the first runs", func() bool { return s.Subscriptions() == 1 })
	v.subscribe("2", large("y"))
	v.wantError("2", errcode.Unavailable)
	v.subscribe("2", large("x")) // it shares the document of the first
	eventually(t, "the one with the same document runs", func() bool { return s.Subscriptions() == 2 })
	v.send(`{"type":"complete","id":"1"}`)
	eventually(t, "the first has ended", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 1 })
	v.subscribe("1", large("y"))
	eventually(t, "another runs", func() bool { return s.Subscriptions() == 2 })
	v.wantPong()
}

func TestMessageFloodClosesSocket(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{MessageRate: 1}})
	t.Run("text", func(t *testing.T) {
		v := s.connect(t)
		for range 20 {
			v.send(pingMessage)
		}
		for {
			text, err := v.read()
			if err == nil && text == pong {
				continue
			}
			if code := websocket.CloseStatus(err); code != 1008 {
				t.Errorf("got %s, close code %d (%v), want 1008", text, code, err)
			}
			return
		}
	})
	t.Run("ping frames", func(t *testing.T) {
		v := s.connect(t)
		closed := make(chan error, 1)
		go func() {
			_, err := v.read()
			closed <- err
		}()
		for v.conn.Ping(t.Context()) == nil {
		}
		if code := websocket.CloseStatus(<-closed); code != 1008 {
			t.Errorf("got close code %d, want 1008", code)
		}
	})
}

func TestSocketsPerAddressAreLimited(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{SocketsPerAddress: 2}})
	first, second := s.connect(t), s.connect(t)
	_, got := s.dial(t, nil, subprotocol)
	if d := cmp.Diff(upgradeResponse{http.StatusTooManyRequests, "5", errcode.RateLimited}, got, cmp.AllowUnexported(upgradeResponse{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	_ = first.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "the slot is free", func() bool {
		v, _ := s.dial(t, nil, subprotocol)
		return v != nil
	})
	second.wantPong()
}

func TestOldestSocketOfUserIsEvicted(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{SocketsPerUser: 2}})
	oldest, newer, other := s.connectAs(t, "ann"), s.connectAs(t, "ann"), s.connectAs(t, "bob")
	newest := s.connectAs(t, "ann")
	oldest.wantClose(4513)
	for _, v := range []*wsClient{newer, other, newest} {
		v.wantPong()
	}
	_ = newest.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "two sockets are open", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.open) == 2 })
	s.connectAs(t, "ann").wantPong() // uses the free slot
	newer.wantPong()
}

func TestStalledSocketIsDropped(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	slow, other := s.connectAs(t, "slow"), s.connectAs(t, "other")
	other.subscribe("1", "subscription { ticks { text } }")
	eventually(t, "the other has subscribed", func() bool { return s.Subscriptions() == 1 })
	for _, id := range []string{"1", "2", "3"} {
		slow.subscribe(id, "subscription { flood }")
	}
	eventually(t, "the flood has begun", func() bool { return s.Running("flood") > 0 || s.closeCount("4512") > 0 })
	eventually(t, "the slow client is dropped", func() bool {
		s.Push("x") // the other client gets every event
		other.wantMessages(`{"type":"next","id":"1","payload":{"data":{"ticks":{"text":"x"}}}}`)
		return s.closeCount("4512") == 1
	})
	eventually(t, "its operations have ended", func() bool { return s.Running("flood") == 0 })
	other.wantPong()
}

func TestStalledClientsLeaveNothingBehind(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	const clients = 50
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			v := s.connectAs(t, "")
			v.subscribe("ticks", "subscription { ticks { text } }")
			v.subscribe("slow", "{ slow }")
			if n%2 == 0 {
				v.subscribe("flood", "subscription { flood }")
			}
			switch n % 3 {
			case 0: // closes
				_ = v.conn.Close(websocket.StatusNormalClosure, "")
			case 1: // disconnects
				_ = v.conn.CloseNow()
			default: // stalls; dropped if it has a flood
			}
		})
	}
	all.Wait()
	eventually(t, "closed clients are removed", func() bool {
		s.Push("tick")
		return s.Running("flood") == 0 && testutil.ToFloat64(s.server.sockets.metrics.open) <= clients/3
	})
	s.close(t)
	if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 0 {
		t.Errorf("got %v open sockets", got)
	}
	eventually(t, "no resolver runs", func() bool { return s.Subscriptions() == 0 && s.Running("slow") == 0 })
} // startServer checks for leaked goroutines

func TestConfigPanicFailsOneOperation(t *testing.T) {
	s := startServer(t, Config{ErrorPresenter: func(context.Context, error) *gqlerror.Error { panic("present") }})
	v := s.connectAs(t, "ann")
	v.subscribe("1", "{ none }")
	v.wantError("1", errcode.Internal)
	s.auth.set("ann", AuthResult{User: "panic"})
	v.subscribe("1", "{ viewer }")
	v.wantError("1", errcode.Internal)
	v.wantPong()
}

func TestCopyContextSelectsRequestValues(t *testing.T) {
	var server atomic.Bool // whether an operation sees http.ServerContextKey
	s := startServer(t, Config{
		CopyContext: func(of, in context.Context) context.Context {
			if of.Value(http.ServerContextKey) == nil {
				return in
			}
			return gqltest.WithViewer(in, "copied")
		},
		ErrorPresenter: func(ctx context.Context, _ error) *gqlerror.Error {
			server.Store(ctx.Value(http.ServerContextKey) != nil)
			return &gqlerror.Error{Message: "no"}
		},
	})
	v := s.connectAs(t, "")
	v.subscribe("1", "{ viewer }")
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"viewer":"copied"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ fail }")
	v.readTypes(2)
	if server.Load() {
		t.Error("got http.ServerContextKey in the operation, want only copied values")
	}
}

func TestResponseWithoutMemoryFailsAlone(t *testing.T) {
	s := startServer(t, Config{Limits: Limits{Memory: 4 * mb}})
	v := s.connectAs(t, "")
	v.subscribe("1", "{ big(bytes: 900000) }")
	v.wantError("1", errcode.Unavailable)
	v.wantPong()
	if n := bytesUsed(s.server.memory); n != 0 {
		t.Errorf("got %d bytes in use, want 0", n)
	}
}

func TestExcessLookupFailsOneOperation(t *testing.T) {
	s := startServer(t, Config{})
	v := s.connectAs(t, "ann")
	clock := &manualClock{}
	s.server.authLookups = ratelimit.New(1, 1, clock.now)
	v.subscribe("1", "{ viewer }")
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"viewer":"ann"}}}`, `{"type":"complete","id":"1"}`)
	asked := s.auth.lookups()
	v.subscribe("1", "{ viewer }")
	v.wantError("1", errcode.RateLimited)
	if s.auth.lookups() != asked {
		t.Error("got a lookup above the limit")
	}
	v.wantPong()
}

func TestInvalidHandshakeIsRejected(t *testing.T) {
	s := newTestServer(t, Config{})
	good := func(changes ...string) map[string]string {
		h := map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": subprotocol}
		for i := 0; i < len(changes); i += 2 {
			h[changes[i]] = changes[i+1]
		}
		return h
	}
	for _, tt := range []struct {
		name, method string
		header       map[string]string
		want         want
	}{
		{"unsupported method", "POST", good(), want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "GET"}}},
		{"no upgrade", "GET", good("Connection", "keep-alive"), want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"old version", "GET", good("Sec-WebSocket-Version", "8"), want{426, request.MediaJSON, "-", []string{errcode.BadRequest}, map[string]string{"Sec-WebSocket-Version": "13"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.do(t, tt.method, "/", "", tt.header)
			tt.want.check(t, res, text)
		})
	}
}

func TestFailedSubscribeFailsAlone(t *testing.T) {
	s := startServer(t, Config{})
	v := s.connectAs(t, "")
	v.subscribe("1", "subscription { refused }")
	v.wantError("1", errcode.Internal)
	v.wantPong()
}

func TestEndedSessionClosesSocketAtNextOperation(t *testing.T) {
	tests := []struct {
		name string
		now  AuthResult
		code websocket.StatusCode
	}{
		{"bad token", AuthResult{BadToken: true}, 4403},
		{"another user", AuthResult{User: "bob"}, 4403},
		{"anonymous", AuthResult{}, 4403},
		{"lookup unavailable", AuthResult{Unavailable: true}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startServer(t, Config{})
			v := s.connectAs(t, "ann")
			s.auth.set("ann", tt.now)
			v.subscribe("1", "{ viewer }")
			if tt.code != 0 {
				v.wantClose(tt.code)
				return
			}
			// While the lookup is unavailable, the viewer is anonymous.
			v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"viewer":""}}}`, `{"type":"complete","id":"1"}`)
		})
	}
}

func TestSocketMetricsExistFromStart(t *testing.T) {
	s := startServer(t, Config{})
	for _, name := range []string{"tandian_door_sockets_open", "tandian_door_socket_operations", "tandian_door_socket_closes_total", "tandian_door_socket_messages_refused_total", "tandian_door_socket_queue_bytes", "tandian_door_socket_slow_total"} {
		if n, err := testutil.GatherAndCount(s.reg, name); err != nil || n == 0 {
			t.Errorf("%s: got %d series, %v, want some", name, n, err)
		}
	}
	v := s.connectAs(t, "")
	if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 1 {
		t.Errorf("got %v open sockets", got)
	}
	v.subscribe("1", "{ wait }")
	eventually(t, "the operation is counted", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 1 })
	_ = v.conn.Close(3333, "my own")
	eventually(t, "the end is counted", func() bool { return s.closeCount(otherCode) == 1 })
	eventually(t, "no socket is open", func() bool {
		return testutil.ToFloat64(s.server.sockets.metrics.open) == 0 && testutil.ToFloat64(s.server.sockets.metrics.operations) == 0
	})
	s.connectAs(t, "").send(`{}`)
	eventually(t, "the invalid message is counted", func() bool {
		return testutil.ToFloat64(s.server.sockets.metrics.refused[messageInvalid]) == 1 && s.closeCount("4400") == 1
	})
}

// An operation that ends with its socket sends nothing, so that its client repeats it and does
// not take it for failed.
func TestOperationEndedBySocketIsNotAnswered(t *testing.T) {
	s := startServer(t, Config{})
	for range 20 {
		v := s.connectAs(t, "")
		v.subscribe("1", "{ slow }")
		eventually(t, "the query runs", func() bool { return s.Running("slow") == 1 })
		c := s.sockets()[0]
		if !c.finish(websocket.StatusServiceRestart) { // as in end, but before the query ends
			t.Fatal("the socket has already ended")
		}
		eventually(t, "the operation has ended", func() bool { return s.Running("slow") == 0 })
		c.work.Wait()
		c.out.end(encodeCloseFrame(websocket.StatusServiceRestart, "restart"), time.Now().Add(testTimeout))
		if text, err := v.read(); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
			t.Fatalf("got %s, %v, want only close code 1012", text, err)
		}
		eventually(t, "the socket is removed", func() bool { return len(s.sockets()) == 0 })
	}
}

func TestCloseEndsAllSockets(t *testing.T) {
	s := startServer(t, Config{})
	var all []*wsClient
	for range 5 {
		v := s.connectAs(t, "")
		v.subscribe("1", "{ slow }")
		all = append(all, v)
	}
	eventually(t, "all queries run", func() bool { return s.Running("slow") == len(all) })
	var reading sync.WaitGroup
	for _, v := range all {
		reading.Go(func() {
			if _, err := v.read(); websocket.CloseStatus(err) != 1012 {
				t.Errorf("got %v, want close code 1012", err)
			}
		})
	}
	s.close(t)
	reading.Wait()
	if n := s.Running("slow"); n != 0 {
		t.Errorf("got %d running operations, want 0", n)
	}
	_, got := s.dial(t, nil, subprotocol)
	if d := cmp.Diff(upgradeResponse{http.StatusServiceUnavailable, "5", errcode.Unavailable}, got, cmp.AllowUnexported(upgradeResponse{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	s.close(t) // a second Close has no effect
}

// A lateWriter starts to drain the server just before it is hijacked.
type lateWriter struct {
	http.ResponseWriter
	sockets *wsServer
}

func (w *lateWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.sockets.drain()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func TestCloseEndsSocketDuringUpgrade(t *testing.T) {
	s := startServer(t, Config{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.server.ServeHTTP(&lateWriter{w, s.server.sockets}, r)
	}))
	defer server.Close()
	s.url = server.URL
	s.connect(t).wantClose(1012)
}
