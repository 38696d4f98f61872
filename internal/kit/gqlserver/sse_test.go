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

// openStreams is a house where nothing may be left running in the end.
func openStreams(t *testing.T, cfg Config) *house {
	t.Helper()
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, running) })
	s := openHouse(t, cfg)
	t.Cleanup(func() {
		testkit.Eventually(t, patience, func() bool { return s.schema.Subscriptions() == 0 })
		testkit.Eventually(t, patience, func() bool { return testutil.ToFloat64(s.server.metrics.streams) == 0 })
		testkit.Eventually(t, patience, func() bool {
			return s.server.perAddress.Keys() == 0 && s.server.perUser.Users() == 0
		})
	})
	return s
}

// An eventReader reads an event stream.
type eventReader struct {
	*testing.T
	head *reply
	body *bufio.Reader
	gone context.CancelFunc
}

// stream asks for an event stream, by POST or, if the target has a query, by GET.
func (s *house) stream(t *testing.T, r sent, token string) *eventReader {
	t.Helper()
	return s.streamAfter(t, r, token, "")
}

// streamAfter says what the last event was.
func (s *house) streamAfter(t *testing.T, r sent, token, last string) *eventReader {
	t.Helper()
	ctx, gone := context.WithTimeout(t.Context(), patience)
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
	return &eventReader{t, &reply{res.StatusCode, res.Header, res.Close}, bufio.NewReader(res.Body), gone}
}

// next reads one event, or one comment, to its blank line.
func (e *eventReader) next() string {
	e.Helper()
	var event strings.Builder
	for {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.Fatalf("after %q: %v", event.String()+line, err)
		}
		event.WriteString(line)
		if line == "\n" {
			return event.String()
		}
	}
}

// wants reads as many events as are wanted, and compares them.
func (e *eventReader) wants(events ...string) {
	e.Helper()
	var got []string
	for range events {
		got = append(got, e.next())
	}
	if d := cmp.Diff(events, got); d != "" {
		e.Fatalf("(-want +got)\n%s", d)
	}
}

// rest reads to the end.
func (e *eventReader) rest() string {
	e.Helper()
	text, err := io.ReadAll(e.body)
	if err != nil {
		e.Fatalf("after %q: %v", text, err)
	}
	return string(text)
}

// wantsRefusal reads an event with an error of that code and without data, and
// the end.
func (e *eventReader) wantsRefusal(code string) {
	e.Helper()
	event := e.next()
	answer, isNext := strings.CutPrefix(event, "event: next\ndata: ")
	if !isNext || firstCode([]byte(answer)) != code || strings.Contains(answer, `"data"`) {
		e.Errorf("got %q, want the code %s", event, code)
	}
	if rest := e.rest(); rest != completeEvent {
		e.Errorf("then came %q", rest)
	}
}

// wantsRefusalAfterComment is wantsRefusal of a stream that nothing was read of.
func (e *eventReader) wantsRefusalAfterComment(code string) {
	e.Helper()
	e.wants(emptyComment)
	e.wantsRefusal(code)
}

const (
	emptyComment  = ":\n\n"
	completeEvent = "event: complete\ndata:\n\n"
)

func nextEvent(response string) string { return "event: next\ndata: " + response + "\n\n" }

func TestAStreamIsExactlyTheseBytes(t *testing.T) {
	// gqlgen knows no path when it writes what a subscription sent.
	failed := func(path string) string {
		if path != "" {
			path = `"path":["` + path + `"],`
		}
		return `{"errors":[{"message":"internal error",` + path + `"extensions":{"code":"INTERNAL"}}],"data":`
	}
	tests := []struct {
		name string
		of   sent
		want string // after the comment
	}{
		{"a subscription", posted("subscription { count(to: 3) }"), nextEvent(`{"data":{"count":1}}`) + nextEvent(`{"data":{"count":2}}`) + nextEvent(`{"data":{"count":3}}`) + completeEvent},
		{"a subscription by GET", sent{"GET", get("query", "subscription { count(to: 1) }"), ""}, nextEvent(`{"data":{"count":1}}`) + completeEvent},
		{"one of nothing", posted("subscription { count(to: 0) }"), completeEvent},
		{"one with an error in the middle", posted("subscription { broken }"), nextEvent(`{"data":{"broken":1}}`) + nextEvent(failed("")+`{"broken":null}}`) + nextEvent(`{"data":{"broken":3}}`) + completeEvent},
		{"one that panics in the middle", posted("subscription { crashing }"), nextEvent(`{"data":{"crashing":1}}`) + nextEvent(failed("")+`null}`) + completeEvent},
		{"one that does not begin", posted("subscription { refused }"), nextEvent(`{"errors":[{"message":"internal error","path":["refused"],"extensions":{"code":"INTERNAL"}}]}`) + completeEvent},
		{"a query", posted("{ sum }"), nextEvent(`{"data":{"sum":0}}`) + completeEvent},
		{"a query by GET", sent{"GET", get("query", "{ sum }"), ""}, nextEvent(`{"data":{"sum":0}}`) + completeEvent},
		{"a mutation", posted(`mutation { setName(name: "x") }`), nextEvent(`{"data":{"setName":"x"}}`) + completeEvent},
		{"a partial result", posted("{ sum fail }"), nextEvent(failed("fail")+`{"sum":0,"fail":null}}`) + completeEvent},
		{"line breaks", posted(`{ echo(value: "a\nb\r\u2028") }`), nextEvent(`{"data":{"echo":"a\nb\r\u2028" }}`) + completeEvent},
		{"a refused request", posted("{"), nextEvent(`{"errors":[{"message":"Expected Name, found \u003cEOF\u003e","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`) + completeEvent},
		{"an operation that is not there", sent{"POST", "/", `{"query":"{ sum }","operationName":"A"}`}, nextEvent(`{"errors":[{"message":"operation A not found","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`) + completeEvent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := openStreams(t, Config{}).stream(t, tt.of, "")
			if d := cmp.Diff(emptyComment+tt.want, e.rest()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestAStreamHasTheHeadersThatKeepItFlowing(t *testing.T) {
	e := openStreams(t, Config{}).stream(t, posted("subscription { flood }"), "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no",
		"X-Content-Type-Options": "nosniff", "Content-Encoding": "", "Content-Length": "",
	} {
		if got := e.head.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if vary := strings.Join(e.head.Header.Values("Vary"), ", "); e.head.StatusCode != 200 || !strings.Contains(vary+",", "Accept,") {
		t.Errorf("%d, Vary is %q", e.head.StatusCode, vary)
	}
	e.wants(emptyComment, nextEvent(`{"data":{"flood":"`+strings.Repeat("x", 10_000)+`"}}`)) // not compressed
}

func TestWhatIsNoRequestGetsNoStream(t *testing.T) {
	s := openStreams(t, Config{})
	tests := []struct {
		name   string
		of     sent
		status int
		code   string
	}{
		{"no JSON", sent{"POST", "/", "{"}, 400, errcode.BadRequest},
		{"a mutation by GET", sent{"GET", get("query", `mutation { setName(name: "x") }`), ""}, 405, errcode.MethodNotAllowed},
		{"another method", sent{"PUT", "/", ""}, 405, errcode.MethodNotAllowed},
		{"a large body", sent{"POST", "/", strings.Repeat(" ", 1<<20+1)}, 413, errcode.PayloadTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := s.stream(t, tt.of, "")
			if text := e.rest(); e.head.StatusCode != tt.status || firstCode([]byte(text)) != tt.code || e.head.Header.Get("Content-Type") != request.MediaJSON+"; charset=utf-8" {
				t.Errorf("%d %s", e.head.StatusCode, text)
			}
		})
	}
}

func TestAStreamSpeaksAtOnceAndWhenThereIsNothingToSay(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{KeepAlive: 20 * time.Millisecond, OperationTime: time.Millisecond, BodyTime: 200 * time.Millisecond}})
	e := s.stream(t, posted("subscription { ticks { text } }"), "")
	for range 15 { // longer than a query, or its body, may take
		e.wants(emptyComment)
	}
	eventually(t, "it listens", func() bool { return s.schema.Push("hello") == 1 })
	event := e.next()
	for event == emptyComment {
		event = e.next()
	}
	if want := nextEvent(`{"data":{"ticks":{"text":"hello"}}}`); event != want {
		t.Errorf("got %q, want %q", event, want)
	}
	if got := testutil.ToFloat64(s.server.metrics.streams); got != 1 {
		t.Errorf("%v streams are open", got)
	}
}

func TestAStreamWithoutKeepAliveIsSilent(t *testing.T) {
	s := openStreams(t, Config{Limits: unlimited()})
	e := s.stream(t, posted("subscription { ticks { text } }"), "")
	e.wants(emptyComment)
	eventually(t, "it listens", func() bool { return s.schema.Push("hello") == 1 })
	e.wants(nextEvent(`{"data":{"ticks":{"text":"hello"}}}`))
}

func TestAClientThatGoesEndsItsSubscription(t *testing.T) {
	for _, field := range []string{"ticks { text }", "flood"} {
		s := openStreams(t, Config{})
		e := s.stream(t, posted("subscription { "+field+" }"), "")
		e.wants(emptyComment)
		eventually(t, "it runs", func() bool { return s.schema.Subscriptions() == 1 })
		e.gone()
		eventually(t, "it ends", func() bool { return s.schema.Subscriptions() == 0 })
	}
}

func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{WriteTime: 500 * time.Millisecond}})
	w := s.wire(t)
	body := query("subscription { flood }")
	w.posts(jsonHeader, "Accept: text/event-stream", fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body)
	eventually(t, "it runs", func() bool { return s.schema.Running("flood") == 1 })
	eventually(t, "it ends", func() bool { return s.schema.Running("flood") == 0 })
}

func TestTooManyStreamsOfAnAddressAreRefused(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{SocketsPerAddress: 2}, Authenticate: named})
	const ticks = "subscription { ticks { text } }"
	first := s.stream(t, posted(ticks), "")
	s.stream(t, posted(ticks), "ann")
	third := s.stream(t, posted(ticks), "")
	if text := third.rest(); third.head.StatusCode != 429 || firstCode([]byte(text)) != errcode.RateLimited || third.head.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", third.head.StatusCode, text)
	}
	if query := s.stream(t, posted("{ sum }"), ""); query.head.StatusCode != 200 {
		t.Errorf("a query: %d", query.head.StatusCode)
	}
	first.gone()
	eventually(t, "there is a place again", func() bool { return s.stream(t, posted(ticks), "").head.StatusCode == 200 })
}

func TestTheOldestStreamOfAUserGivesWay(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{SocketsPerUser: 2}, Authenticate: named})
	const ticks = "subscription { ticks { text } }"
	var all []*eventReader
	for _, user := range []string{"ann", "bob", "ann", "", "ann"} {
		e := s.stream(t, posted(ticks), user)
		e.wants(emptyComment)
		all = append(all, e)
	}
	all[0].wantsRefusal(errcode.RateLimited)
	eventually(t, "the others listen", func() bool { return s.schema.Push("hello") == 4 })
	for _, e := range all[1:] {
		for event := e.next(); !strings.Contains(event, "hello"); event = e.next() {
			t.Errorf("got %q", event)
		}
	}
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	tests := []struct {
		name, token string
		now         AuthResult
		ends        bool
	}{
		{"refused", "ann", AuthResult{BadToken: true}, true},
		{"refused by name", "ann", AuthResult{User: "ann", BadToken: true}, true},
		{"another user", "ann", AuthResult{User: "bob"}, true},
		{"nobody", "ann", AuthResult{}, true},
		{"not known now", "ann", AuthResult{Unavailable: true}, false},
		{"the same user", "ann", AuthResult{User: "ann"}, false},
		{"nobody from the start", "", AuthResult{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			current := &people{}
			s := openStreams(t, Config{Authenticate: current.admit, Limits: Limits{Recheck: 20 * time.Millisecond, KeepAlive: 20 * time.Millisecond}})
			e := s.stream(t, posted("subscription { ticks { text } }"), tt.token)
			e.wants(emptyComment)
			current.change(tt.token, tt.now)
			if tt.ends {
				event := e.next()
				for event == emptyComment {
					event = e.next()
				}
				if !strings.Contains(event, errcode.Unauthenticated) || strings.Contains(event, `"data"`) {
					t.Errorf("got %q", event)
				}
				if rest := e.rest(); rest != completeEvent {
					t.Errorf("then came %q", rest)
				}
				return
			}
			before := current.asked()
			eventually(t, "it was looked at twice", func() bool { return tt.token == "" || current.asked() > before+1 })
			e.wants(emptyComment, emptyComment, emptyComment)
			if got := current.asked(); tt.token == "" && got != 0 {
				t.Errorf("somebody without a token was asked for %d times", got)
			}
		})
	}
}

func TestAnOldStreamEndsSoThatItsClientComesAgain(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{SocketAge: 50 * time.Millisecond}})
	if got := s.stream(t, posted("subscription { ticks { text } }"), "").rest(); got != emptyComment {
		t.Errorf("got %q", got)
	}
}

func TestCloseEndsAllStreamsSoThatTheirClientsComeAgain(t *testing.T) {
	s := openStreams(t, Config{})
	const ticks = "subscription { ticks { text } }"
	var all []*eventReader
	for range 5 {
		all = append(all, s.stream(t, posted(ticks), ""))
	}
	eventually(t, "they run", func() bool { return s.schema.Running("ticks") == len(all) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.server.Close(ctx, 20*time.Millisecond); err != nil {
		t.Error(err)
	}
	eventually(t, "they end", func() bool { return s.schema.Running("ticks") == 0 })
	for _, e := range all {
		if got := e.rest(); got != emptyComment {
			t.Errorf("got %q", got)
		}
	}
	late := s.stream(t, posted(ticks), "")
	if text := late.rest(); late.head.StatusCode != 503 || firstCode([]byte(text)) != errcode.Unavailable || late.head.Header.Get("Retry-After") == "" {
		t.Errorf("a new one: %d %s", late.head.StatusCode, text)
	}
	res, text := s.ask(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON})
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
	if err := s.server.Close(ctx, 0); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// An execution that fails because the server stops is no answer.
func TestAStreamDoesNotTellOfTheErrorThatItsEndIs(t *testing.T) {
	s := openStreams(t, Config{})
	for range 20 { // which of both is seen first is random
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStopping)
		responses := make(chan *graphql.Response, 1)
		responses <- &graphql.Response{Errors: gqlerror.List{errcode.Errorf(errcode.Internal, "context canceled")}}
		to := httptest.NewRecorder()
		newEventStream(s.server, to).run(t.Context(), "", &operation{ctx: ctx}, responses)
		if got := to.Body.String(); got != "" {
			t.Fatalf("it told %q", got)
		}
	}
}

func TestCloseTakesNoLongerThanItsContext(t *testing.T) {
	s := openStreams(t, Config{})
	var all []*eventReader
	for range 5 {
		all = append(all, s.stream(t, posted("subscription { ticks { text } }"), ""))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = s.server.Close(ctx, time.Hour) // it may just see the last one go
	for _, e := range all {
		if got := e.rest(); got != emptyComment {
			t.Errorf("got %q", got)
		}
	}
}

func TestStreamsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	s := openStreams(t, Config{Authenticate: named, Limits: Limits{WriteTime: time.Second, SocketsPerUser: 3, KeepAlive: time.Millisecond}})
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			field := []string{"ticks { text }", "flood", "count(to: 100)", "broken", "crashing", "refused"}[n%6]
			e := s.stream(t, posted("subscription { "+field+" }"), []string{"", "ann"}[n%2])
			switch n % 5 {
			case 0:
				e.gone()
			case 1: // stalls
			default:
				_, _ = e.body.ReadString('\n')
				e.gone()
			}
		})
	}
	all.Wait()
}

// wantsNews reads an event of the schema's subscription to number and text.
func (e *eventReader) wantsNews(numbers ...int) {
	e.Helper()
	for _, n := range numbers {
		e.wants(fmt.Sprintf("event: next\nid: %d\ndata: {\"data\":{\"told\":{\"number\":%d,\"text\":\"x\"}}}\n\n", n, n))
	}
}

// follow asks for a stream of what is told about "a", after the last event, "" for none.
func (s *house) follow(t *testing.T, token, last string) *eventReader {
	t.Helper()
	before := s.schema.Running("told")
	e := s.streamAfter(t, posted(ofA), token, last)
	e.wants(emptyComment)
	eventually(t, "it follows", func() bool { return s.schema.Running("told") == before+1 })
	return e
}

func TestStreamsAndSocketsShareExecutions(t *testing.T) {
	s := openStreams(t, Config{Authenticate: named})
	ann, bob := s.follow(t, "ann", ""), s.follow(t, "bob", "")
	for n := range 3 {
		s.schema.Tell("a", "x")
		ann.wantsNews(n + 1)
		bob.wantsNews(n + 1)
	}
	if n := testutil.ToFloat64(s.server.metrics.executions); n != 3 {
		t.Errorf("%v executions", n)
	}
}

func TestAStreamGoesOnAfterTheLastEvent(t *testing.T) {
	s := openStreams(t, Config{})
	first := s.follow(t, "", "")
	for range 5 {
		s.schema.Tell("a", "x")
	}
	first.wantsNews(1, 2)
	first.gone()
	eventually(t, "it is gone", func() bool { return s.schema.Running("told") == 0 })
	s.schema.Tell("a", "x")
	again := s.follow(t, "", "2")
	again.wantsNews(3, 4, 5, 6)
	s.schema.Tell("a", "x")
	again.wantsNews(7)
	s.follow(t, "", strings.Repeat("9", maxEventID+1)).gone() // which nobody can have been sent
}

func TestASharedStreamEndsAsItsSourceDoes(t *testing.T) {
	s := openStreams(t, Config{})
	e := s.follow(t, "", "")
	s.schema.Tell("a", "x")
	s.schema.End("a", nil)
	e.wantsNews(1)
	if rest := e.rest(); rest != completeEvent {
		t.Errorf("then came %q", rest)
	}
	failing := s.streamAfter(t, posted(`subscription { told(topic: "b") { number } }`), "", "")
	failing.wants(emptyComment)
	eventually(t, "it follows", func() bool { return s.schema.Running("told") == 1 })
	s.schema.End("b", errors.New("the inside"))
	failing.wantsRefusal(errcode.Internal)
	s.streamAfter(t, posted(ofA), "", "no number").wantsRefusalAfterComment(errcode.Internal)
}

func TestAStreamEndsWithItsSessionWhenThatIsSaid(t *testing.T) {
	p := &people{}
	p.change("ann", AuthResult{User: "ann", Session: "of ann"})
	s := openStreams(t, Config{Authenticate: p.admit})
	e := s.follow(t, "ann", "")
	s.server.Recheck("of ann")
	s.schema.Tell("a", "x")
	e.wantsNews(1)
	p.change("ann", AuthResult{BadToken: true})
	s.server.Recheck("of ann")
	e.wantsRefusal(errcode.Unauthenticated)
	testkit.Eventually(t, patience, func() bool { return s.server.sessions.held() == 0 })
}

// Who does not read is told the rest when it does.
func TestAStreamThatIsReadSlowlyIsResumed(t *testing.T) {
	s := openStreams(t, Config{})
	e := s.follow(t, "", "")
	text := strings.Repeat("x", 20_000)
	public := 0
	for testutil.ToFloat64(s.server.metrics.lagged) == 0 { // until the buffers of the connection are full
		s.schema.Tell("a", text)
		s.server.broadcasts.work.Wait()
		public++
	}
	for range 20 {
		s.schema.Tell("a", text)
		public++
	}
	for n := range public {
		e.wants(fmt.Sprintf("event: next\nid: %d\ndata: {\"data\":{\"told\":{\"number\":%d,\"text\":\"%s\"}}}\n\n", n+1, n+1, text))
	}
}
