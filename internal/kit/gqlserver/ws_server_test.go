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

// patience is how long tests with real connections wait for what must come.
const patience = 20 * time.Second

// people are who may ask: a token is the name of its user. It is safe for
// concurrent use.
type people struct {
	mu   sync.Mutex
	are  map[string]AuthResult // by token, where it is another
	asks int                   // with a token
	hold chan struct{}         // closed when the answers to tokens may come; nil for at once
}

func (p *people) admit(_ context.Context, c Credentials) AuthResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Token == "" {
		return AuthResult{}
	}
	p.asks++
	if p.hold != nil {
		p.mu.Unlock()
		<-p.hold // whatever becomes of the context
		p.mu.Lock()
	}
	a, special := p.are[c.Token]
	if !special {
		a = AuthResult{User: c.Token}
	}
	if a.User == "panic" {
		panic("who is it")
	}
	a.WithContext = func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, a.User) }
	return a
}

func (p *people) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asks
}

func (p *people) change(token string, to AuthResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.are == nil {
		p.are = map[string]AuthResult{}
	}
	p.are[token] = to
}

// A socketSite is a running door whose sockets are tested.
type socketSite struct {
	*gqltest.Schema
	server *Server
	people *people
	reg    *prometheus.Registry
	url    string
	client *http.Client
	wait   time.Duration // longest for what must come
}

func newSocketSite(t testing.TB, cfg Config) *socketSite {
	t.Helper()
	s := &socketSite{Schema: gqltest.New(), people: &people{}, reg: prometheus.NewRegistry(), wait: patience}
	cfg.Authenticate, cfg.Registerer = s.people.admit, s.reg
	var err error
	if s.server, err = New(s.Executable(), cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves over loopback connections, and checks in the end that nothing is
// left running.
func start(t *testing.T, cfg Config) *socketSite {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	s := newSocketSite(t, cfg)
	server := httptest.NewServer(s.server)
	s.url, s.client = server.URL, server.Client()
	t.Cleanup(func() {
		s.close(t)
		server.Close()
	})
	return s
}

func (s *socketSite) close(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.server.sockets.Close(ctx, 0); err != nil {
		t.Error(err)
	}
}

// closes are how many sockets ended with a code.
func (s *socketSite) closes(code string) float64 {
	return testutil.ToFloat64(s.server.sockets.metrics.closes[code])
}

// A visitor is a client that says exactly what a test wants.
type visitor struct {
	*testing.T
	conn *websocket.Conn
	wait time.Duration
}

// An answer is what HTTP says to an upgrade.
type answer struct {
	status     int
	retryAfter string
	code       string // of the error in its body
}

func (s *socketSite) dial(t *testing.T, header http.Header, protocols ...string) (*visitor, answer) {
	t.Helper()
	return s.dialWith(t, &websocket.DialOptions{HTTPHeader: header, Subprotocols: protocols})
}

// dialWith returns no visitor if there was no upgrade.
func (s *socketSite) dialWith(t *testing.T, options *websocket.DialOptions) (*visitor, answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	options.HTTPClient = s.client
	conn, res, err := websocket.Dial(ctx, s.url, options)
	if res == nil {
		t.Fatal(err)
	}
	got := answer{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After")}
	if err != nil {
		defer res.Body.Close()
		var body struct {
			Errors []struct{ Extensions struct{ Code string } }
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil || len(body.Errors) != 1 {
			t.Fatalf("the body of %s has %d errors, %v", res.Status, len(body.Errors), err)
		}
		got.code = body.Errors[0].Extensions.Code
		return nil, got
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &visitor{t, conn, s.wait}, got
}

// visit opens a socket.
func (s *socketSite) visit(t *testing.T) *visitor {
	t.Helper()
	v, got := s.dial(t, nil, subprotocol)
	if v == nil {
		t.Fatalf("the upgrade was answered with %+v", got)
	}
	return v
}

// enter opens a socket and gets it acknowledged.
func (s *socketSite) enter(t *testing.T, token string) *visitor {
	t.Helper()
	v := s.visit(t)
	v.introduce(token)
	return v
}

// introduce gets a socket acknowledged.
func (v *visitor) introduce(token string) {
	v.Helper()
	if token == "" {
		v.send(initMessage)
	} else {
		v.send(`{"type":"connection_init","payload":{"authorization":"Bearer ` + token + `"}}`)
	}
	v.wants(ack)
}

func (v *visitor) send(messages ...string) {
	v.Helper()
	for _, m := range messages {
		v.sendAs(websocket.MessageText, m)
	}
}

func (v *visitor) sendAs(kind websocket.MessageType, m string) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), patience)
	defer cancel()
	if err := v.conn.Write(ctx, kind, []byte(m)); err != nil {
		v.Fatalf("send %.80s: %v", m, err)
	}
}

func (v *visitor) subscribe(id, query string) {
	v.Helper()
	payload, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		v.Fatal(err)
	}
	v.send(`{"type":"subscribe","id":"` + id + `","payload":` + string(payload) + `}`)
}

func (v *visitor) read() (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context()), v.wait)
	defer cancel()
	_, text, err := v.conn.Read(ctx)
	return string(text), err
}

// wants reads as many messages as are wanted, and compares them.
func (v *visitor) wants(messages ...string) {
	v.Helper()
	var got []string
	for range messages {
		text, err := v.read()
		if err != nil {
			v.Fatalf("after %q: %v, want %q", got, err, messages)
		}
		got = append(got, text)
	}
	if d := cmp.Diff(messages, got); d != "" {
		v.Fatalf("messages (-want +got)\n%s", d)
	}
}

// wantsError reads an "error" for an operation, with one error of that code.
func (v *visitor) wantsError(id, code string) {
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
		v.Errorf("%s tells a secret", text)
	}
}

// wantsClose reads until the socket is closed. Messages that come before are an
// error.
func (v *visitor) wantsClose(code websocket.StatusCode) {
	v.Helper()
	text, err := v.read()
	if err == nil {
		v.Fatalf("got %s, want the close code %d", text, code)
	}
	if got := websocket.CloseStatus(err); got != code {
		v.Fatalf("closed with %d (%v), want %d", got, err, code)
	}
}

// lives shows that the socket is open and that there is nothing unread.
func (v *visitor) lives() {
	v.Helper()
	v.send(pingMessage)
	v.wants(pong)
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func TestSocketUpgradesWhomItMay(t *testing.T) {
	s := start(t, Config{AllowedOrigins: []string{"https://app.example.com"}})
	own := strings.TrimPrefix(s.url, "http://")
	tests := []struct {
		name      string
		origin    string
		protocols []string
		status    int
		code      string // of a refusal
	}{
		{name: "no origin", protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "its own origin", origin: "http://" + own, protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "an origin that is allowed", origin: "https://app.example.com", protocols: []string{subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "an allowed origin in clear text", origin: "http://app.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "a foreign origin", origin: "https://evil.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "a foreign origin that begins like ours", origin: "http://" + own + ".evil.example.com", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "a sandboxed page", origin: "null", protocols: []string{subprotocol}, status: http.StatusForbidden, code: errcode.CSRF},
		{name: "the sub-protocol among others", protocols: []string{"graphql-ws", subprotocol}, status: http.StatusSwitchingProtocols},
		{name: "another sub-protocol", protocols: []string{"graphql-ws"}, status: http.StatusBadRequest, code: errcode.BadRequest},
		{name: "no sub-protocol", status: http.StatusSwitchingProtocols}, // and closed, see below
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			if tt.origin != "" {
				header.Set("Origin", tt.origin)
			}
			v, got := s.dial(t, header, tt.protocols...)
			if d := cmp.Diff(answer{status: tt.status, code: tt.code}, got, cmp.AllowUnexported(answer{})); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if v != nil && len(tt.protocols) > 0 {
				v.lives()
			}
		})
	}
}

func TestSocketClosesWithTheCodeOfEachMisuse(t *testing.T) {
	s := start(t, Config{Limits: Limits{InitTime: time.Second, Message: 1000}})
	const subscribe = `{"type":"subscribe","id":"1","payload":{"query":"subscription { ticks { number } }"}}`
	long := strings.Repeat("x", maxOperationID)
	tests := []struct {
		name   string
		send   []string
		binary bool // the last one
		want   []string
		code   websocket.StatusCode
	}{
		{name: "no init in time", code: 4408},
		{name: "no init in time, but pings", send: []string{pingMessage, `{"type":"pong"}`}, want: []string{pong}, code: 4408},
		{name: "subscribe before init", send: []string{subscribe}, code: 4401},
		{name: "a payload of init that is a list", send: []string{`{"type":"connection_init","payload":[]}`}, code: 4400},
		{name: "a payload of init that is a string", send: []string{`{"type":"connection_init","payload":"x"}`}, code: 4400},
		{name: "an authorization that is a number", send: []string{`{"type":"connection_init","payload":{"authorization":1}}`}, code: 4401},
		{name: "init twice", send: []string{initMessage, initMessage}, want: []string{ack}, code: 4429},
		{name: "no JSON", send: []string{initMessage, `{"type":"ping"`}, want: []string{ack}, code: 4400},
		{name: "nothing", send: []string{initMessage, ``}, want: []string{ack}, code: 4400},
		{name: "two in one", send: []string{initMessage, pingMessage + pingMessage}, want: []string{ack}, code: 4400},
		{name: "null", send: []string{initMessage, `null`}, want: []string{ack}, code: 4400},
		{name: "a list", send: []string{initMessage, `[]`}, want: []string{ack}, code: 4400},
		{name: "a string", send: []string{initMessage, `"ping"`}, want: []string{ack}, code: 4400},
		{name: "invalid UTF-8", send: []string{initMessage, "{\"type\":\"ping\",\"x\":\"\xff\"}"}, want: []string{ack}, code: 4400},
		{name: "a binary frame", send: []string{initMessage, pingMessage}, binary: true, want: []string{ack}, code: 4400},
		{name: "no type", send: []string{initMessage, `{}`}, want: []string{ack}, code: 4400},
		{name: "a type in capitals", send: []string{initMessage, `{"TYPE":"ping"}`}, want: []string{ack}, code: 4400},
		{name: "a type that is a number", send: []string{initMessage, `{"type":1}`}, want: []string{ack}, code: 4400},
		{name: "an unknown type", send: []string{initMessage, `{"type":"start"}`}, want: []string{ack}, code: 4400},
		{name: "the server's ack", send: []string{initMessage, ack}, want: []string{ack}, code: 4400},
		{name: "the server's next", send: []string{initMessage, `{"type":"next","id":"1","payload":{}}`}, want: []string{ack}, code: 4400},
		{name: "the server's error", send: []string{initMessage, `{"type":"error","id":"1","payload":[]}`}, want: []string{ack}, code: 4400},
		{name: "a payload of ping that is a list", send: []string{initMessage, `{"type":"ping","payload":[]}`}, want: []string{ack}, code: 4400},
		{name: "subscribe without id", send: []string{initMessage, `{"type":"subscribe","payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "an empty id", send: []string{initMessage, `{"type":"subscribe","id":"","payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "an id that is a number", send: []string{initMessage, `{"type":"subscribe","id":1,"payload":{"query":"{hello}"}}`}, want: []string{ack}, code: 4400},
		{name: "an id that is too long", send: []string{initMessage, `{"type":"complete","id":"` + long + `x"}`}, want: []string{ack}, code: 4400},
		{name: "complete without id", send: []string{initMessage, `{"type":"complete"}`}, want: []string{ack}, code: 4400},
		{name: "no payload", send: []string{initMessage, `{"type":"subscribe","id":"1"}`}, want: []string{ack}, code: 4400},
		{name: "a payload that is a list", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":["{hello}"]}`}, want: []string{ack}, code: 4400},
		{name: "no query", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{}}`}, want: []string{ack}, code: 4400},
		{name: "a query that is null", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":null}}`}, want: []string{ack}, code: 4400},
		{name: "a query that is a number", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":1}}`}, want: []string{ack}, code: 4400},
		{name: "variables that are a list", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","variables":[]}}`}, want: []string{ack}, code: 4400},
		{name: "extensions that are a string", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","extensions":"x"}}`}, want: []string{ack}, code: 4400},
		{name: "an operationName that is a number", send: []string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","operationName":1}}`}, want: []string{ack}, code: 4400},
		{name: "an id in use", send: []string{initMessage, subscribe, subscribe}, want: []string{ack}, code: 4409},
		{name: "a message too large", send: []string{initMessage, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 1000) + `"}}`}, want: []string{ack}, code: 1009},
		{name: "a message far too large", send: []string{initMessage, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 100_000) + `"}}`}, want: []string{ack}, code: 1009},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.visit(t)
			for i, m := range tt.send {
				kind := websocket.MessageText
				if tt.binary && i == len(tt.send)-1 {
					kind = websocket.MessageBinary
				}
				v.sendAs(kind, m)
			}
			v.wants(tt.want...)
			v.wantsClose(tt.code)
		})
	}
	t.Run("no sub-protocol", func(t *testing.T) {
		v, _ := s.dial(t, nil)
		v.wantsClose(4406)
	})
}

func TestSocketTakesWhatTheProtocolAllows(t *testing.T) {
	s := start(t, Config{Limits: Limits{Message: 1000}})
	hello := `{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`
	long := strings.Repeat("x", maxOperationID)
	padding := strings.Repeat("x", 1000-len(`{"type":"ping","payload":{"x":""}}`))
	tests := []struct {
		name string
		send []string
		want []string
	}{
		{"a ping with a payload gets it back", []string{`{"type":"ping","payload":{"a":[1, 2]}}`}, []string{`{"type":"pong","payload":{"a":[1, 2]}}`}},
		{"a ping with null", []string{`{"type":"ping","payload":null}`}, []string{pong}},
		{"the largest message", []string{`{"type":"ping","payload":{"x":"` + padding + `"}}`}, []string{`{"type":"pong","payload":{"x":"` + padding + `"}}`}},
		{"pongs without a ping", []string{`{"type":"pong"}`, `{"type":"pong","payload":{}}`}, nil},
		{"complete before init", []string{`{"type":"complete","id":"1"}`}, nil},
		{"init with null", []string{`{"type":"connection_init","payload":null}`}, []string{ack}},
		{"init with something else", []string{`{"type":"connection_init","payload":{"authorization":null,"other":[1]}}`}, []string{ack}},
		{"a member more", []string{initMessage, `{"type":"ping","x":{}}`}, []string{ack, pong}},
		{"complete of what there is not", []string{initMessage, `{"type":"complete","id":"9"}`}, []string{ack}},
		{
			"everything null",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"{hello}","operationName":null,"variables":null,"extensions":null}}`},
			[]string{ack, hello, `{"type":"complete","id":"1"}`},
		},
		{
			"an operation's name and variables",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"query A { hello } query B($n: String) { hello(name: $n) }","operationName":"B","variables":{"n":"ann"}}}`},
			[]string{ack, `{"type":"next","id":"1","payload":{"data":{"hello":"hello ann"}}}`, `{"type":"complete","id":"1"}`},
		},
		{
			"a mutation",
			[]string{initMessage, `{"type":"subscribe","id":"1","payload":{"query":"mutation { setName(name: \"bob\") }"}}`},
			[]string{ack, `{"type":"next","id":"1","payload":{"data":{"setName":"bob"}}}`, `{"type":"complete","id":"1"}`},
		},
		{
			"a subscription to its end",
			[]string{initMessage, `{"type":"subscribe","id":"s","payload":{"query":"subscription { count(to: 2) }"}}`},
			[]string{ack, `{"type":"next","id":"s","payload":{"data":{"count":1}}}`, `{"type":"next","id":"s","payload":{"data":{"count":2}}}`, `{"type":"complete","id":"s"}`},
		},
		{
			"the longest id",
			[]string{initMessage, `{"type":"subscribe","id":"` + long + `","payload":{"query":"{hello}"}}`},
			[]string{ack, `{"type":"next","id":"` + long + `","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"` + long + `"}`},
		},
		{
			"an id that has to be quoted",
			[]string{initMessage, `{"type":"subscribe","id":"\"\\\n","payload":{"query":"{hello}"}}`},
			[]string{ack, `{"type":"next","id":"\"\\\n","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"\"\\\n"}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.visit(t)
			v.send(tt.send...)
			v.wants(tt.want...)
			v.lives()
		})
	}
}

func TestSocketTellsErrors(t *testing.T) {
	s := start(t, Config{Limits: Limits{VariableDepth: 3}})
	tests := []struct {
		name, query, variables string
		code                   string   // of one "error"
		want                   []string // or the types of messages
	}{
		{name: "what does not parse", query: `{`, code: errcode.ParseFailed},
		{name: "what is not valid", query: `{ none }`, code: errcode.ValidationFailed},
		{name: "nothing", query: ``, code: errcode.BadRequest},
		{name: "variables too deep", query: `{ hello }`, variables: `{"a":{"b":{"c":{"d":{}}}}}`, code: errcode.BadRequest},
		{name: "a field that fails", query: `{ hello fail }`, want: []string{messageNext, messageComplete}},
		{name: "a resolver that panics", query: `{ hello crash }`, want: []string{messageNext, messageComplete}},
		{name: "a panic where gqlgen does not recover", query: `{ explode }`, want: []string{messageNext, messageComplete}},
		{name: "a field of an event that fails", query: `subscription { broken }`, want: []string{messageNext, messageNext, messageNext, messageComplete}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := s.enter(t, "")
			query, _ := json.Marshal(tt.query)
			payload := `{"query":` + string(query) + `,"variables":` + orNull(tt.variables) + `}`
			v.send(`{"type":"subscribe","id":"1","payload":` + payload + `}`)
			if tt.code != "" {
				v.wantsError("1", tt.code)
			} else if d := cmp.Diff(tt.want, v.types(len(tt.want))); d != "" {
				t.Errorf("messages (-want +got)\n%s", d)
			}
			v.lives() // and nothing came after it
		})
	}
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// types are those of the next n messages, none of which may tell a secret.
func (v *visitor) types(n int) []string {
	v.Helper()
	var types []string
	for range n {
		text, err := v.read()
		if err != nil {
			v.Fatalf("after %q: %v", types, err)
		}
		var m struct{ Type string }
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			v.Fatalf("%s: %v", text, err)
		}
		if strings.Contains(text, gqltest.Secret) {
			v.Errorf("%s tells a secret", text)
		}
		types = append(types, m.Type)
	}
	return types
}

func TestSocketKnowsWhoAsks(t *testing.T) {
	s := start(t, Config{})
	s.people.change("bad", AuthResult{BadToken: true})
	s.people.change("unknown", AuthResult{Unavailable: true})
	s.people.change("panic", AuthResult{User: "panic"})
	tests := []struct {
		name    string
		header  string
		payload string
		viewer  string // JSON
		code    websocket.StatusCode
	}{
		{name: "nobody", payload: `{}`, viewer: `null`},
		{name: "a token", payload: `{"authorization":"Bearer ann"}`, viewer: `"ann"`},
		{name: "a token under a capital", payload: `{"Authorization":"bearer ann"}`, viewer: `"ann"`},
		{name: "a token in the header", header: "Bearer ann", payload: `null`, viewer: `"ann"`},
		{name: "one in each", header: "Bearer bob", payload: `{"authorization":"Bearer ann"}`, viewer: `"ann"`},
		{name: "an empty one and a header", header: "Bearer bob", payload: `{"authorization":""}`, viewer: `"bob"`},
		{name: "a proxy's header", header: "Basic eDp5", payload: `{}`, viewer: `null`},
		{name: "a bad token", payload: `{"authorization":"Bearer bad"}`, code: 4401},
		{name: "a bad token in the header", header: "Bearer bad", payload: `{}`, code: 4401},
		{name: "no Bearer's token", payload: `{"authorization":"ann"}`, code: 4401},
		{name: "under headers", payload: `{"headers":{"Authorization":"Bearer ann"}}`, viewer: `"ann"`},
		{name: "under Headers, in lower case", payload: `{"Headers":{"authorization":"BEARER ann"}}`, viewer: `"ann"`},
		{name: "in capitals", payload: `{"AUTHORIZATION":"Bearer ann"}`, viewer: `"ann"`},
		{name: "in mixed case, with spaces", payload: `{"aUTHORization":"  bEARER \t ann "}`, viewer: `"ann"`},
		{name: "as Apollo's documentation has it", payload: `{"authToken":"ann"}`, viewer: `"ann"`},
		{name: "a Bearer's token as authToken", payload: `{"authToken":"Bearer ann"}`, viewer: `"ann"`},
		{name: "a token of another spelling", payload: `{"access_token":"ann"}`, viewer: `"ann"`},
		{name: "a token as such", payload: `{"token":"ann"}`, viewer: `"ann"`},
		{name: "the same one twice", payload: `{"authorization":"Bearer ann","headers":{"AUTHORIZATION":"bearer ann"},"authToken":"ann"}`, viewer: `"ann"`},
		{name: "headers that say nothing of it", payload: `{"headers":{"x-request-id":"1","authorization-x":"Bearer ann"}}`, viewer: `null`},
		{name: "nulls", payload: `{"authorization":null,"Authorization":"","authToken":" ","headers":null}`, viewer: `null`},
		{name: "headers that are empty", payload: `{"headers":[]}`, viewer: `null`},
		{name: "headers with a null", payload: `{"headers":{"Authorization":null}}`, viewer: `null`},
		{name: "headers with a null, and a header", header: "Bearer bob", payload: `{"headers":{"Authorization":null}}`, viewer: `"bob"`},
		{name: "a null and a token", payload: `{"authorization":null,"headers":{"authorization":"Bearer ann"}}`, viewer: `"ann"`},
		{name: "a bad token under headers", payload: `{"headers":{"Authorization":"Bearer bad"}}`, code: 4401},
		{name: "a bad token in capitals", payload: `{"AUTHORIZATION":"Bearer bad"}`, code: 4401},
		{name: "a bad authToken", payload: `{"authToken":"bad"}`, code: 4401},
		{name: "another scheme under headers", payload: `{"headers":{"Authorization":"Basic eDp5"}}`, code: 4401},
		{name: "a scheme without a token", payload: `{"authorization":"Bearer "}`, code: 4401},
		{name: "a scheme as a token", payload: `{"authToken":"bearer"}`, code: 4401},
		{name: "two words", payload: `{"authorization":"Bearer ann bob"}`, code: 4401},
		{name: "a number under headers", payload: `{"headers":{"authorization":1}}`, code: 4401},
		{name: "a list under headers", payload: `{"headers":{"Authorization":["Bearer ann"]}}`, code: 4401},
		{name: "an object", payload: `{"authorization":{"token":"ann"}}`, code: 4401},
		{name: "false", payload: `{"Authorization":false}`, code: 4401},
		{name: "headers that are a string", payload: `{"headers":"Authorization: Bearer ann"}`, code: 4401},
		{name: "headers that are pairs", payload: `{"headers":[["Authorization","Bearer ann"]]}`, code: 4401},
		{name: "two tokens", payload: `{"authorization":"Bearer ann","Authorization":"Bearer bob"}`, code: 4401},
		{name: "another token under headers", payload: `{"authorization":"Bearer ann","headers":{"Authorization":"Bearer bob"}}`, code: 4401},
		{name: "a good one and one that is none", payload: `{"authorization":"Basic eDp5","headers":{"Authorization":"Bearer ann"}}`, code: 4401},
		{name: "one that is none, and a header", header: "Bearer bob", payload: `{"authorization":"Basic eDp5"}`, code: 4401},
		{name: "a token that nobody can look up now", payload: `{"authorization":"Bearer unknown"}`, code: 1013},
		{name: "a panic while it is looked up", payload: `{"authorization":"Bearer panic"}`, code: 1013},
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
				v.wantsClose(tt.code)
				return
			}
			v.wants(ack)
			v.subscribe("1", "{ viewer }")
			v.wants(`{"type":"next","id":"1","payload":{"data":{"viewer":`+tt.viewer+`}}}`, `{"type":"complete","id":"1"}`)
		})
	}
}

func TestWhoGuessesTokensIsSoonNotAskedForThem(t *testing.T) {
	s := start(t, Config{Limits: Limits{AnonymousRate: 1, AnonymousBurst: 30}})
	s.people.change("bad", AuthResult{BadToken: true})
	s.server.anonymous = ratelimit.New(0, 0, time.Now) // only guesses count here
	const guesses = 40
	codes := map[websocket.StatusCode]int{}
	for range guesses {
		v := s.visit(t)
		v.send(`{"type":"connection_init","payload":{"authorization":"Bearer bad"}}`)
		_, err := v.read()
		codes[websocket.CloseStatus(err)]++
	}
	if codes[4401] < 30 || codes[1013] == 0 || codes[4401]+codes[1013] != guesses || s.people.asked() != codes[4401] {
		t.Errorf("closed with %v, asked %d times; want 4401 some 30 times, and then 1013 without asking", codes, s.people.asked())
	}
}

func TestCompleteEndsAnOperationAndFreesItsID(t *testing.T) {
	s := start(t, Config{})
	v := s.enter(t, "")
	v.subscribe("1", "subscription { ticks { text } }")
	eventually(t, "the subscription runs", func() bool { return s.Subscriptions() == 1 })
	s.Push("first")
	v.wants(`{"type":"next","id":"1","payload":{"data":{"ticks":{"text":"first"}}}}`)
	v.send(`{"type":"complete","id":"1"}`)
	eventually(t, "the subscription has ended", func() bool { return s.Subscriptions() == 0 })
	v.subscribe("1", "{ slow }") // the id is free
	eventually(t, "the query runs", func() bool { return s.Running("slow") == 1 })
	v.send(`{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ hello }") // though the query may not have ended
	v.wants(`{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ hello }")
	v.wants(`{"type":"next","id":"1","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"1"}`)
	eventually(t, "the query has ended", func() bool { return s.Running("slow") == 0 })
	v.lives()
}

func TestAnOperationTooManyIsAnErrorForItAlone(t *testing.T) {
	s := start(t, Config{Limits: Limits{SocketOperations: 2}})
	v := s.enter(t, "")
	v.subscribe("1", "{ wait }")
	v.subscribe("2", "subscription { ticks { text } }")
	v.subscribe("3", "{ hello }")
	v.wantsError("3", errcode.RateLimited)
	eventually(t, "both run", func() bool { return s.Running("wait") == 1 && s.Subscriptions() == 1 })
	s.Release()
	v.wants(`{"type":"next","id":"1","payload":{"data":{"wait":"released"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("3", "{ hello }")
	v.wants(`{"type":"next","id":"3","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"3"}`)
}

func TestOperationsThatDoNotHeedTheirEndCountToo(t *testing.T) {
	s := start(t, Config{Limits: Limits{SocketOperations: 1}})
	v := s.enter(t, "ann")
	hold := make(chan struct{})
	s.people.mu.Lock()
	s.people.hold = hold
	s.people.mu.Unlock()
	for _, id := range []string{"1", "2"} {
		v.subscribe(id, "{ hello }")
		v.send(`{"type":"complete","id":"` + id + `"}`)
	}
	v.subscribe("3", "{ hello }")
	v.wantsError("3", errcode.RateLimited)
	close(hold)
	eventually(t, "they have ended", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 0 })
	v.subscribe("3", "{ hello }")
	v.wants(`{"type":"next","id":"3","payload":{"data":{"hello":"hello world"}}}`, `{"type":"complete","id":"3"}`)
}

func TestLargeDocumentsNeedMemoryAsLongAsTheyRun(t *testing.T) {
	s := start(t, Config{Limits: Limits{Memory: 800 * kb}}) // a quarter is enough to read one, not one beside another
	v := s.enter(t, "")
	large := func(c string) string {
		return "subscription { ticks { " + strings.Repeat("text ", 100) + strings.Repeat("number ", 100) + "} } #" + c
	}
	v.subscribe("1", large("x"))
	eventually(t, "the first runs", func() bool { return s.Subscriptions() == 1 })
	v.subscribe("2", large("y"))
	v.wantsError("2", errcode.Unavailable)
	v.subscribe("2", large("x")) // it shares the document of the first
	eventually(t, "the one with the same document runs", func() bool { return s.Subscriptions() == 2 })
	v.send(`{"type":"complete","id":"1"}`)
	eventually(t, "the first has ended", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 1 })
	v.subscribe("1", large("y"))
	eventually(t, "another runs", func() bool { return s.Subscriptions() == 2 })
	v.lives()
}

func TestTooManyMessagesCloseWithAFatalCode(t *testing.T) {
	s := start(t, Config{Limits: Limits{MessageRate: 1}})
	t.Run("text", func(t *testing.T) {
		v := s.visit(t)
		for range 20 {
			v.send(pingMessage)
		}
		for {
			text, err := v.read()
			if err == nil && text == pong {
				continue
			}
			if code := websocket.CloseStatus(err); code != 1008 {
				t.Errorf("got %s, closed with %d (%v)", text, code, err)
			}
			return
		}
	})
	t.Run("ping frames", func(t *testing.T) {
		v := s.visit(t)
		closed := make(chan error, 1)
		go func() {
			_, err := v.read()
			closed <- err
		}()
		for v.conn.Ping(t.Context()) == nil {
		}
		if code := websocket.CloseStatus(<-closed); code != 1008 {
			t.Errorf("closed with %d", code)
		}
	})
}

func TestTooManySocketsOfAnAddressAreRefused(t *testing.T) {
	s := start(t, Config{Limits: Limits{SocketsPerAddress: 2}})
	first, second := s.visit(t), s.visit(t)
	_, got := s.dial(t, nil, subprotocol)
	if d := cmp.Diff(answer{http.StatusTooManyRequests, "5", errcode.RateLimited}, got, cmp.AllowUnexported(answer{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	_ = first.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "the place is free", func() bool {
		v, _ := s.dial(t, nil, subprotocol)
		return v != nil
	})
	second.lives()
}

func TestTheOldestSocketOfAUserGivesWay(t *testing.T) {
	s := start(t, Config{Limits: Limits{SocketsPerUser: 2}})
	oldest, newer, other := s.enter(t, "ann"), s.enter(t, "ann"), s.enter(t, "bob")
	newest := s.enter(t, "ann")
	oldest.wantsClose(4513)
	for _, v := range []*visitor{newer, other, newest} {
		v.lives()
	}
	_ = newest.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "two sockets are open", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.open) == 2 })
	s.enter(t, "ann").lives() // in the place of who left
	newer.lives()
}

func TestASocketThatDoesNotReadIsDropped(t *testing.T) {
	s := start(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	slow, other := s.enter(t, "slow"), s.enter(t, "other")
	other.subscribe("1", "subscription { ticks { text } }")
	eventually(t, "the other has subscribed", func() bool { return s.Subscriptions() == 1 })
	for _, id := range []string{"1", "2", "3"} {
		slow.subscribe(id, "subscription { flood }")
	}
	eventually(t, "the flood has begun", func() bool { return s.Running("flood") > 0 || s.closes("4512") > 0 })
	eventually(t, "the slow one is gone", func() bool {
		s.Push("x") // which the other gets all the time
		other.wants(`{"type":"next","id":"1","payload":{"data":{"ticks":{"text":"x"}}}}`)
		return s.closes("4512") == 1
	})
	eventually(t, "its operations have ended", func() bool { return s.Running("flood") == 0 })
	other.lives()
}

func TestClientsThatStallAndLeaveLeaveNothingBehind(t *testing.T) {
	s := start(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	const clients = 50
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			v := s.enter(t, "")
			v.subscribe("ticks", "subscription { ticks { text } }")
			v.subscribe("slow", "{ slow }")
			if n%2 == 0 {
				v.subscribe("flood", "subscription { flood }")
			}
			switch n % 3 {
			case 0: // leaves in order
				_ = v.conn.Close(websocket.StatusNormalClosure, "")
			case 1: // vanishes
				_ = v.conn.CloseNow()
			default: // stalls, and is dropped if there is a flood
			}
		})
	}
	all.Wait()
	eventually(t, "those who left are gone", func() bool {
		s.Push("tick")
		return s.Running("flood") == 0 && testutil.ToFloat64(s.server.sockets.metrics.open) <= clients/3
	})
	s.close(t)
	if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 0 {
		t.Errorf("%v sockets are open", got)
	}
	eventually(t, "no resolver runs", func() bool { return s.Subscriptions() == 0 && s.Running("slow") == 0 })
} // and start looks for goroutines that are left

func TestAPanicOfConfigEndsOneOperation(t *testing.T) {
	s := start(t, Config{ErrorPresenter: func(context.Context, error) *gqlerror.Error { panic("present") }})
	v := s.enter(t, "ann")
	v.subscribe("1", "{ none }")
	v.wantsError("1", errcode.Internal)
	s.people.change("ann", AuthResult{User: "panic"})
	v.subscribe("1", "{ viewer }")
	v.wantsError("1", errcode.Internal)
	v.lives()
}

func TestASocketKeepsOfItsRequestWhatItIsToldTo(t *testing.T) {
	var server atomic.Bool // seen by an operation
	s := start(t, Config{
		CopyContext: func(of, in context.Context) context.Context {
			if of.Value(http.ServerContextKey) == nil {
				return in
			}
			return gqltest.WithViewer(in, "kept")
		},
		ErrorPresenter: func(ctx context.Context, _ error) *gqlerror.Error {
			server.Store(ctx.Value(http.ServerContextKey) != nil)
			return &gqlerror.Error{Message: "no"}
		},
	})
	v := s.enter(t, "")
	v.subscribe("1", "{ viewer }")
	v.wants(`{"type":"next","id":"1","payload":{"data":{"viewer":"kept"}}}`, `{"type":"complete","id":"1"}`)
	v.subscribe("1", "{ fail }")
	v.types(2)
	if server.Load() {
		t.Error("it keeps the rest of its request too")
	}
}

func TestAnAnswerForWhichThereIsNoMemoryIsAnErrorAlone(t *testing.T) {
	s := start(t, Config{Limits: Limits{Memory: 4 * mb}})
	v := s.enter(t, "")
	v.subscribe("1", "{ big(bytes: 900000) }")
	v.wantsError("1", errcode.Unavailable)
	v.lives()
	if taken := taken(s.server.memory); taken != 0 {
		t.Errorf("%d bytes are still held", taken)
	}
}

func TestALookTooManyRefusesOneOperationOfASocket(t *testing.T) {
	s := start(t, Config{})
	v := s.enter(t, "ann")
	hand := &handClock{}
	s.server.authLookups = ratelimit.New(1, 1, hand.now)
	v.subscribe("1", "{ viewer }")
	v.wants(`{"type":"next","id":"1","payload":{"data":{"viewer":"ann"}}}`, `{"type":"complete","id":"1"}`)
	asked := s.people.asked()
	v.subscribe("1", "{ viewer }")
	v.wantsError("1", errcode.RateLimited)
	if s.people.asked() != asked {
		t.Error("it was asked all the same")
	}
	v.lives()
}

func TestAHandshakeThatIsNoneIsRefusedWithACode(t *testing.T) {
	s := openHouse(t, Config{})
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
		{"another method", "POST", good(), want{405, request.MediaJSON, "-", []string{errcode.MethodNotAllowed}, map[string]string{"Allow": "GET"}}},
		{"a connection that stays", "GET", good("Connection", "keep-alive"), want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"an old version", "GET", good("Sec-WebSocket-Version", "8"), want{426, request.MediaJSON, "-", []string{errcode.BadRequest}, map[string]string{"Sec-WebSocket-Version": "13"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.ask(t, tt.method, "/", "", tt.header)
			tt.want.check(t, res, text)
		})
	}
}

func TestASubscriptionThatDoesNotBeginIsAnErrorAlone(t *testing.T) {
	s := start(t, Config{})
	v := s.enter(t, "")
	v.subscribe("1", "subscription { refused }")
	v.wantsError("1", errcode.Internal)
	v.lives()
}

func TestASessionThatEndedEndsItsSocketAtTheNextOperation(t *testing.T) {
	tests := []struct {
		name string
		now  AuthResult
		code websocket.StatusCode
	}{
		{"refused", AuthResult{BadToken: true}, 4403},
		{"another user", AuthResult{User: "bob"}, 4403},
		{"nobody", AuthResult{}, 4403},
		{"not known now", AuthResult{Unavailable: true}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, Config{})
			v := s.enter(t, "ann")
			s.people.change("ann", tt.now)
			v.subscribe("1", "{ viewer }")
			if tt.code != 0 {
				v.wantsClose(tt.code)
				return
			}
			// Whoever it was does not stay who it is while nobody can say so.
			v.wants(`{"type":"next","id":"1","payload":{"data":{"viewer":""}}}`, `{"type":"complete","id":"1"}`)
		})
	}
}

func TestSocketMetricsAreThereFromTheStart(t *testing.T) {
	s := start(t, Config{})
	for _, name := range []string{"tandian_door_sockets_open", "tandian_door_socket_operations", "tandian_door_socket_closes_total", "tandian_door_socket_messages_refused_total", "tandian_door_socket_queue_bytes", "tandian_door_socket_slow_total"} {
		if n, err := testutil.GatherAndCount(s.reg, name); err != nil || n == 0 {
			t.Errorf("%s: %d series, %v", name, n, err)
		}
	}
	v := s.enter(t, "")
	if got := testutil.ToFloat64(s.server.sockets.metrics.open); got != 1 {
		t.Errorf("%v sockets are open", got)
	}
	v.subscribe("1", "{ wait }")
	eventually(t, "it counts the operation", func() bool { return testutil.ToFloat64(s.server.sockets.metrics.operations) == 1 })
	_ = v.conn.Close(3333, "my own")
	eventually(t, "it counts the end", func() bool { return s.closes(otherCode) == 1 })
	eventually(t, "nothing is open", func() bool {
		return testutil.ToFloat64(s.server.sockets.metrics.open) == 0 && testutil.ToFloat64(s.server.sockets.metrics.operations) == 0
	})
	s.enter(t, "").send(`{}`)
	eventually(t, "it counts the misuse", func() bool {
		return testutil.ToFloat64(s.server.sockets.metrics.refused[messageInvalid]) == 1 && s.closes("4400") == 1
	})
}

// An operation that ends because its socket does has nothing to say: its client sends it
// anew, or would take it for failed.
func TestAnOperationThatItsSocketEndsIsNotAnswered(t *testing.T) {
	s := start(t, Config{})
	for range 20 {
		v := s.enter(t, "")
		v.subscribe("1", "{ slow }")
		eventually(t, "it runs", func() bool { return s.Running("slow") == 1 })
		c := s.sockets()[0]
		if !c.finish(websocket.StatusServiceRestart) { // as end does it, that of slow being faster
			t.Fatal("it has ended")
		}
		eventually(t, "the operation is over", func() bool { return s.Running("slow") == 0 })
		c.work.Wait()
		c.out.end(encodeCloseFrame(websocket.StatusServiceRestart, "restart"), time.Now().Add(patience))
		if text, err := v.read(); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
			t.Fatalf("it was sent %s, %v", text, err)
		}
		eventually(t, "it is gone", func() bool { return len(s.sockets()) == 0 })
	}
}

func TestCloseEndsAllSockets(t *testing.T) {
	s := start(t, Config{})
	var all []*visitor
	for range 5 {
		v := s.enter(t, "")
		v.subscribe("1", "{ slow }")
		all = append(all, v)
	}
	eventually(t, "they run", func() bool { return s.Running("slow") == len(all) })
	var reading sync.WaitGroup
	for _, v := range all {
		reading.Go(func() {
			if _, err := v.read(); websocket.CloseStatus(err) != 1012 {
				t.Errorf("closed with %v", err)
			}
		})
	}
	s.close(t)
	reading.Wait()
	if n := s.Running("slow"); n != 0 {
		t.Errorf("%d operations run on", n)
	}
	_, got := s.dial(t, nil, subprotocol)
	if d := cmp.Diff(answer{http.StatusServiceUnavailable, "5", errcode.Unavailable}, got, cmp.AllowUnexported(answer{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	s.close(t) // once more is no harm
}

// A lateWriter is hijacked when the server has just begun to stop.
type lateWriter struct {
	http.ResponseWriter
	sockets *wsServer
}

func (w *lateWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.sockets.drain()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func TestCloseEndsASocketThatIsBeingUpgraded(t *testing.T) {
	s := start(t, Config{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.server.ServeHTTP(&lateWriter{w, s.server.sockets}, r)
	}))
	defer server.Close()
	s.url = server.URL
	s.visit(t).wantsClose(1012)
}
