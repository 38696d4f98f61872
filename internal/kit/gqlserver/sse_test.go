package gqlserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// newStreamServer is newTestServer. At the end it checks that nothing is left running.
func newStreamServer(t *testing.T, cfg Config) *testServer {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	s := newTestServer(t, cfg)
	t.Cleanup(func() {
		testkit.Eventually(t, testTimeout, func() bool { return s.schema.Subscriptions() == 0 })
		testkit.Eventually(t, testTimeout, func() bool { return testutil.ToFloat64(s.server.metrics.streams) == 0 })
		testkit.Eventually(t, testTimeout, func() bool {
			return s.server.perAddress.Keys() == 0 && s.server.perUser.Users() == 0
		})
	})
	return s
}

// An eventReader reads an event stream.
type eventReader struct {
	*testing.T
	head   *responseHead
	body   *bufio.Reader
	cancel context.CancelFunc
}

// stream requests an event stream.
func (s *testServer) stream(t *testing.T, r testRequest, token string) *eventReader {
	t.Helper()
	return s.streamAfter(t, r, token, "")
}

// streamAfter requests an event stream with a Last-Event-ID, "" for none.
func (s *testServer) streamAfter(t *testing.T, r testRequest, token, last string) *eventReader {
	t.Helper()
	ctx, gone := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(gone)
	q, err := http.NewRequestWithContext(ctx, r.method, s.URL+r.target, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept", request.MediaStream)
	q.Header.Set("Accept-Encoding", "gzip, zstd")
	if r.method == http.MethodPost {
		q.Header.Set("Content-Type", request.MediaJSON)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &eventReader{t, &responseHead{res.StatusCode, res.Header, res.Close}, bufio.NewReader(res.Body), gone}
}

// next reads one event, or one comment, to its blank line.
func (e *eventReader) next() string {
	e.Helper()
	var event strings.Builder
	for {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.Fatalf("read event after %q: %v", event.String()+line, err)
		}
		event.WriteString(line)
		if line == "\n" {
			return event.String()
		}
	}
}

// wantEvents reads and compares the next events.
func (e *eventReader) wantEvents(events ...string) {
	e.Helper()
	var got []string
	for range events {
		got = append(got, e.next())
	}
	if d := cmp.Diff(events, got); d != "" {
		e.Fatalf("(-want +got)\n%s", d)
	}
}

// readAll reads to the end.
func (e *eventReader) readAll() string {
	e.Helper()
	text, err := io.ReadAll(e.body)
	if err != nil {
		e.Fatalf("read stream after %q: %v", text, err)
	}
	return string(text)
}

// wantError reads an event with an error of that code and no data, then the end.
func (e *eventReader) wantError(code string) {
	e.Helper()
	event := e.next()
	response, isNext := strings.CutPrefix(event, "event: next\ndata: ")
	if !isNext || firstCode([]byte(response)) != code || strings.Contains(response, `"data"`) {
		e.Errorf("got %q, want the code %s", event, code)
	}
	if rest := e.readAll(); rest != completeEvent {
		e.Errorf("then got %q, want the end", rest)
	}
}

// wantCommentAndError is wantError for an unread stream.
func (e *eventReader) wantCommentAndError(code string) {
	e.Helper()
	e.wantEvents(emptyComment)
	e.wantError(code)
}

const (
	emptyComment  = ":\n\n"
	completeEvent = "event: complete\ndata:\n\n"
)

func nextEvent(response string) string { return "event: next\ndata: " + response + "\n\n" }

func TestStreamBytes(t *testing.T) {
	// gqlgen has no path while it encodes an event of a subscription.
	failed := func(path string) string {
		if path != "" {
			path = `"path":["` + path + `"],`
		}
		return `{"errors":[{"message":"internal error",` + path + `"extensions":{"code":"INTERNAL"}}],"data":`
	}
	tests := []struct {
		name    string
		request testRequest
		want    string // after the comment
	}{
		{"subscription", postRequest("subscription { count(to: 3) }"), nextEvent(`{"data":{"count":1}}`) + nextEvent(`{"data":{"count":2}}`) + nextEvent(`{"data":{"count":3}}`) + completeEvent},
		{"subscription by GET", testRequest{"GET", get("query", "subscription { count(to: 1) }"), ""}, nextEvent(`{"data":{"count":1}}`) + completeEvent},
		{"subscription without events", postRequest("subscription { count(to: 0) }"), completeEvent},
		{"subscription with an error", postRequest("subscription { broken }"), nextEvent(`{"data":{"broken":1}}`) + nextEvent(failed("")+`{"broken":null}}`) + nextEvent(`{"data":{"broken":3}}`) + completeEvent},
		{"subscription that panics", postRequest("subscription { crashing }"), nextEvent(`{"data":{"crashing":1}}`) + nextEvent(failed("")+`null}`) + completeEvent},
		{"subscription that does not start", postRequest("subscription { refused }"), nextEvent(`{"errors":[{"message":"internal error","path":["refused"],"extensions":{"code":"INTERNAL"}}]}`) + completeEvent},
		{"query", postRequest("{ sum }"), nextEvent(`{"data":{"sum":0}}`) + completeEvent},
		{"query by GET", testRequest{"GET", get("query", "{ sum }"), ""}, nextEvent(`{"data":{"sum":0}}`) + completeEvent},
		{"mutation", postRequest(`mutation { setName(name: "x") }`), nextEvent(`{"data":{"setName":"x"}}`) + completeEvent},
		{"partial result", postRequest("{ sum fail }"), nextEvent(failed("fail")+`{"sum":0,"fail":null}}`) + completeEvent},
		{"line breaks", postRequest(`{ echo(value: "a\nb\r\u2028") }`), nextEvent(`{"data":{"echo":"a\nb\r\u2028" }}`) + completeEvent},
		{"rejected request", postRequest("{"), nextEvent(`{"errors":[{"message":"Expected Name, found \u003cEOF\u003e","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`) + completeEvent},
		{"unknown operation", testRequest{"POST", "/", `{"query":"{ sum }","operationName":"A"}`}, nextEvent(`{"errors":[{"message":"operation A not found","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`) + completeEvent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newStreamServer(t, Config{}).stream(t, tt.request, "")
			if d := cmp.Diff(emptyComment+tt.want, e.readAll()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestStreamHeadersPreventBuffering(t *testing.T) {
	e := newStreamServer(t, Config{}).stream(t, postRequest("subscription { flood }"), "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no",
		"X-Content-Type-Options": "nosniff", "Content-Encoding": "", "Content-Length": "",
	} {
		if got := e.head.Header.Get(name); got != want {
			t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	if vary := strings.Join(e.head.Header.Values("Vary"), ", "); e.head.StatusCode != 200 || !strings.Contains(vary+",", "Accept,") {
		t.Errorf("got %d and Vary %q, want 200 and Accept", e.head.StatusCode, vary)
	}
	e.wantEvents(emptyComment, nextEvent(`{"data":{"flood":"`+strings.Repeat("x", 10_000)+`"}}`)) // not compressed
}

func TestInvalidRequestGetsNoStream(t *testing.T) {
	s := newStreamServer(t, Config{})
	tests := []struct {
		name    string
		request testRequest
		status  int
		code    string
	}{
		{"invalid JSON", testRequest{"POST", "/", "{"}, 400, errcode.BadRequest},
		{"mutation by GET", testRequest{"GET", get("query", `mutation { setName(name: "x") }`), ""}, 405, errcode.MethodNotAllowed},
		{"unsupported method", testRequest{"PUT", "/", ""}, 405, errcode.MethodNotAllowed},
		{"large body", testRequest{"POST", "/", strings.Repeat(" ", 1<<20+1)}, 413, errcode.PayloadTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := s.stream(t, tt.request, "")
			if text := e.readAll(); e.head.StatusCode != tt.status || firstCode([]byte(text)) != tt.code || e.head.Header.Get("Content-Type") != request.MediaJSON+"; charset=utf-8" {
				t.Errorf("got %d %s, want %d with the code %s", e.head.StatusCode, text, tt.status, tt.code)
			}
		})
	}
}

func TestStreamSendsKeepAliveComments(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{KeepAlive: 20 * time.Millisecond, OperationTime: time.Millisecond, BodyTime: 200 * time.Millisecond}})
	e := s.stream(t, postRequest("subscription { ticks { text } }"), "")
	for range 15 { // longer than the limits of a query and of its body
		e.wantEvents(emptyComment)
	}
	eventually(t, "the subscription listens", func() bool { return s.schema.Push("hello") == 1 })
	event := e.next()
	for event == emptyComment {
		event = e.next()
	}
	if want := nextEvent(`{"data":{"ticks":{"text":"hello"}}}`); event != want {
		t.Errorf("got %q, want %q", event, want)
	}
	if got := testutil.ToFloat64(s.server.metrics.streams); got != 1 {
		t.Errorf("got %v open streams, want 1", got)
	}
}

func TestStreamWithoutKeepAliveIsSilent(t *testing.T) {
	s := newStreamServer(t, Config{Limits: unlimited()})
	e := s.stream(t, postRequest("subscription { ticks { text } }"), "")
	e.wantEvents(emptyComment)
	eventually(t, "the subscription listens", func() bool { return s.schema.Push("hello") == 1 })
	e.wantEvents(nextEvent(`{"data":{"ticks":{"text":"hello"}}}`))
}

func TestDisconnectEndsSubscription(t *testing.T) {
	for _, field := range []string{"ticks { text }", "flood"} {
		s := newStreamServer(t, Config{})
		e := s.stream(t, postRequest("subscription { "+field+" }"), "")
		e.wantEvents(emptyComment)
		eventually(t, "the subscription runs", func() bool { return s.schema.Subscriptions() == 1 })
		e.cancel()
		eventually(t, "the subscription ends", func() bool { return s.schema.Subscriptions() == 0 })
	}
}

func TestStalledStreamClientIsDropped(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	w := s.dial(t)
	body := query("subscription { flood }")
	w.writePOST(jsonHeader, "Accept: text/event-stream", fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body)
	eventually(t, "the subscription runs", func() bool { return s.schema.Running("flood") == 1 })
	eventually(t, "the subscription ends", func() bool { return s.schema.Running("flood") == 0 })
}

func TestStreamsPerAddressAreLimited(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{SocketsPerAddress: 2}, Authenticate: tokenAsUser})
	const ticks = "subscription { ticks { text } }"
	first := s.stream(t, postRequest(ticks), "")
	s.stream(t, postRequest(ticks), "ann")
	third := s.stream(t, postRequest(ticks), "")
	if text := third.readAll(); third.head.StatusCode != 429 || firstCode([]byte(text)) != errcode.RateLimited || third.head.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s, want 429 with Retry-After", third.head.StatusCode, text)
	}
	if query := s.stream(t, postRequest("{ sum }"), ""); query.head.StatusCode != 200 {
		t.Errorf("query: got %d, want 200", query.head.StatusCode)
	}
	first.cancel()
	eventually(t, "a slot is free", func() bool { return s.stream(t, postRequest(ticks), "").head.StatusCode == 200 })
}

func TestOldestStreamOfUserIsEvicted(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{SocketsPerUser: 2}, Authenticate: tokenAsUser})
	const ticks = "subscription { ticks { text } }"
	var all []*eventReader
	for _, user := range []string{"ann", "bob", "ann", "", "ann"} {
		e := s.stream(t, postRequest(ticks), user)
		e.wantEvents(emptyComment)
		all = append(all, e)
	}
	all[0].wantError(errcode.RateLimited)
	eventually(t, "the others listen", func() bool { return s.schema.Push("hello") == 4 })
	for _, e := range all[1:] {
		for event := e.next(); !strings.Contains(event, "hello"); event = e.next() {
			t.Errorf("got %q, want hello", event)
		}
	}
}

func TestStreamEndsWithSession(t *testing.T) {
	tests := []struct {
		name, token string
		now         AuthResult
		ends        bool
	}{
		{"bad token", "ann", AuthResult{BadToken: true}, true},
		{"bad token with a user", "ann", AuthResult{User: "ann", BadToken: true}, true},
		{"another user", "ann", AuthResult{User: "bob"}, true},
		{"anonymous", "ann", AuthResult{}, true},
		{"lookup unavailable", "ann", AuthResult{Unavailable: true}, false},
		{"same user", "ann", AuthResult{User: "ann"}, false},
		{"anonymous from the start", "", AuthResult{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			auth := &fakeAuth{}
			s := newStreamServer(t, Config{Authenticate: auth.authenticate, Limits: Limits{Recheck: 20 * time.Millisecond, KeepAlive: 20 * time.Millisecond}})
			e := s.stream(t, postRequest("subscription { ticks { text } }"), tt.token)
			e.wantEvents(emptyComment)
			auth.set(tt.token, tt.now)
			if tt.ends {
				event := e.next()
				for event == emptyComment {
					event = e.next()
				}
				if !strings.Contains(event, errcode.Unauthenticated) || strings.Contains(event, `"data"`) {
					t.Errorf("got %q, want the code %s", event, errcode.Unauthenticated)
				}
				if rest := e.readAll(); rest != completeEvent {
					t.Errorf("then got %q, want the end", rest)
				}
				return
			}
			before := auth.lookups()
			eventually(t, "the session is rechecked twice", func() bool { return tt.token == "" || auth.lookups() > before+1 })
			e.wantEvents(emptyComment, emptyComment, emptyComment)
			if got := auth.lookups(); tt.token == "" && got != 0 {
				t.Errorf("got %d lookups without a token, want 0", got)
			}
		})
	}
}

func TestOldStreamEndsForReconnect(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{SocketAge: 50 * time.Millisecond}})
	if got := s.stream(t, postRequest("subscription { ticks { text } }"), "").readAll(); got != emptyComment {
		t.Errorf("got %q, want only a comment", got)
	}
}

func TestCloseEndsAllStreams(t *testing.T) {
	s := newStreamServer(t, Config{})
	const ticks = "subscription { ticks { text } }"
	var all []*eventReader
	for range 5 {
		all = append(all, s.stream(t, postRequest(ticks), ""))
	}
	eventually(t, "all subscriptions run", func() bool { return s.schema.Running("ticks") == len(all) })
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := s.server.Close(ctx, 20*time.Millisecond); err != nil {
		t.Error(err)
	}
	eventually(t, "all subscriptions end", func() bool { return s.schema.Running("ticks") == 0 })
	for _, e := range all {
		if got := e.readAll(); got != emptyComment {
			t.Errorf("got %q, want only a comment", got)
		}
	}
	late := s.stream(t, postRequest(ticks), "")
	if text := late.readAll(); late.head.StatusCode != 503 || firstCode([]byte(text)) != errcode.Unavailable || late.head.Header.Get("Retry-After") == "" {
		t.Errorf("new stream: got %d %s, want 503 with Retry-After", late.head.StatusCode, text)
	}
	res, text := s.do(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON})
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	if err := s.server.Close(ctx, 0); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// The stream does not report an execution that fails because the server stops.
func TestStoppingStreamSendsNoError(t *testing.T) {
	s := newStreamServer(t, Config{})
	for range 20 { // the stream sees either the stop or the response first, at random
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStopping)
		responses := make(chan *graphql.Response, 1)
		responses <- &graphql.Response{Errors: gqlerror.List{errcode.Errorf(errcode.Internal, "context canceled")}}
		to := httptest.NewRecorder()
		newEventStream(s.server, to).run(t.Context(), "", &operation{ctx: ctx}, responses)
		if got := to.Body.String(); got != "" {
			t.Fatalf("got %q, want nothing", got)
		}
	}
}

func TestCloseReturnsWhenContextEnds(t *testing.T) {
	s := newStreamServer(t, Config{})
	var all []*eventReader
	for range 5 {
		all = append(all, s.stream(t, postRequest("subscription { ticks { text } }"), ""))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = s.server.Close(ctx, time.Hour) // the last stream may end in time
	for _, e := range all {
		if got := e.readAll(); got != emptyComment {
			t.Errorf("got %q, want only a comment", got)
		}
	}
}

func TestStreamsLeaveNothingBehind(t *testing.T) {
	s := newStreamServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{WriteTime: time.Second, SocketsPerUser: 3, KeepAlive: time.Millisecond}})
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			field := []string{"ticks { text }", "flood", "count(to: 100)", "broken", "crashing", "refused"}[n%6]
			e := s.stream(t, postRequest("subscription { "+field+" }"), []string{"", "ann"}[n%2])
			switch n % 5 {
			case 0:
				e.cancel()
			case 1: // stalls
			default:
				_, _ = e.body.ReadString('\n')
				e.cancel()
			}
		})
	}
	all.Wait()
}

// wantUpdates reads events of the subscription to number and text.
func (e *eventReader) wantUpdates(numbers ...int) {
	e.Helper()
	for _, n := range numbers {
		e.wantEvents(fmt.Sprintf("event: next\nid: %d\ndata: {\"data\":{\"told\":{\"number\":%d,\"text\":\"x\"}}}\n\n", n, n))
	}
}

// follow subscribes to the topic "a" after the last event, "" for none.
func (s *testServer) follow(t *testing.T, token, last string) *eventReader {
	t.Helper()
	before := s.schema.Running("told")
	e := s.streamAfter(t, postRequest(subscribeToA), token, last)
	e.wantEvents(emptyComment)
	eventually(t, "the stream is subscribed", func() bool { return s.schema.Running("told") == before+1 })
	return e
}

func TestStreamsShareExecutions(t *testing.T) {
	s := newStreamServer(t, Config{Authenticate: tokenAsUser})
	ann, bob := s.follow(t, "ann", ""), s.follow(t, "bob", "")
	for n := range 3 {
		s.schema.Publish("a", "x")
		ann.wantUpdates(n + 1)
		bob.wantUpdates(n + 1)
	}
	if n := testutil.ToFloat64(s.server.metrics.executions); n != 3 {
		t.Errorf("got %v executions, want 3", n)
	}
}

func TestStreamResumesAfterLastEvent(t *testing.T) {
	s := newStreamServer(t, Config{})
	first := s.follow(t, "", "")
	for range 5 {
		s.schema.Publish("a", "x")
	}
	first.wantUpdates(1, 2)
	first.cancel()
	eventually(t, "the subscription has ended", func() bool { return s.schema.Running("told") == 0 })
	s.schema.Publish("a", "x")
	again := s.follow(t, "", "2")
	again.wantUpdates(3, 4, 5, 6)
	s.schema.Publish("a", "x")
	again.wantUpdates(7)
	s.follow(t, "", strings.Repeat("9", maxEventID+1)).cancel() // too long to be an ID of an event
}

func TestSharedStreamEndsWithSource(t *testing.T) {
	s := newStreamServer(t, Config{})
	e := s.follow(t, "", "")
	s.schema.Publish("a", "x")
	s.schema.EndTopic("a", nil)
	e.wantUpdates(1)
	if rest := e.readAll(); rest != completeEvent {
		t.Errorf("then got %q, want the end", rest)
	}
	failing := s.streamAfter(t, postRequest(`subscription { told(topic: "b") { number } }`), "", "")
	failing.wantEvents(emptyComment)
	eventually(t, "the stream is subscribed", func() bool { return s.schema.Running("told") == 1 })
	s.schema.EndTopic("b", errors.New("source failed"))
	failing.wantError(errcode.Internal)
	s.streamAfter(t, postRequest(subscribeToA), "", "not a number").wantCommentAndError(errcode.Internal)
}

func TestRecheckEndsStreamOfEndedSession(t *testing.T) {
	auth := &fakeAuth{}
	auth.set("ann", AuthResult{User: "ann", Session: "of ann"})
	s := newStreamServer(t, Config{Authenticate: auth.authenticate})
	e := s.follow(t, "ann", "")
	s.server.Recheck("of ann")
	s.schema.Publish("a", "x")
	e.wantUpdates(1)
	auth.set("ann", AuthResult{BadToken: true})
	s.server.Recheck("of ann")
	e.wantError(errcode.Unauthenticated)
	testkit.Eventually(t, testTimeout, func() bool { return s.server.sessions.size() == 0 })
}

// A client that does not read gets all updates when it reads again.
func TestSlowStreamIsResumed(t *testing.T) {
	s := newStreamServer(t, Config{})
	e := s.follow(t, "", "")
	text := strings.Repeat("x", 20_000)
	updates := 0
	for testutil.ToFloat64(s.server.metrics.lagged) == 0 { // until the connection buffers are full
		s.schema.Publish("a", text)
		s.server.broadcasts.work.Wait()
		updates++
	}
	for range 20 {
		s.schema.Publish("a", text)
		updates++
	}
	for n := range updates {
		e.wantEvents(fmt.Sprintf("event: next\nid: %d\ndata: {\"data\":{\"told\":{\"number\":%d,\"text\":\"%s\"}}}\n\n", n+1, n+1, text))
	}
}
