package gqlserver

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// Compression only finds out by the type of the writer below whether it can flush.
func TestEventStreamFlushesBehindOtherHandlers(t *testing.T) {
	schema, log := gqltest.New(), slog.New(slog.DiscardHandler)
	d, err := New(schema.Executable(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(observe.HTTP(d, prometheus.NewRegistry(), observe.RequestLog{Log: log}))
	defer server.Close()
	for _, encoding := range []string{"gzip", "identity", ""} {
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(query("subscription { ticks { text } }")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", request.MediaJSON)
		r.Header.Set("Accept", request.MediaStream)
		r.Header.Set("Accept-Encoding", encoding)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%q: read headers: %v", encoding, err)
		}
		eventually(t, "the subscription runs", func() bool { return schema.Push("now") == 1 })
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%q: read event: %v", encoding, err)
			}
			if strings.Contains(line, `"text":"now"`) {
				break
			}
		}
		cancel()
		_ = res.Body.Close()
		eventually(t, "the subscription has ended", func() bool { return schema.Subscriptions() == 0 })
	}
}

// A client that does not read holds counted memory and blocks no other client. Responses that
// wait for their client count as memory and not as running.
func TestUnreadResponsesAreBounded(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{Memory: 24 * mb}}) // a caller has 6 MB, a response uses twice its length
	body := query("{ big(bytes: 2000000) }")
	var clients sync.WaitGroup
	defer clients.Wait()
	release := make(chan struct{})
	defer close(release)
	status := make(chan int, 10)
	for range 10 {
		clients.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Content-Type", request.MediaJSON)
			r.Header.Set("Authorization", "Bearer ann")
			r.Header.Set("Accept-Encoding", "identity")
			res, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			status <- res.StatusCode
			<-release
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		})
	}
	got := map[int]int{}
	for range 10 {
		got[<-status]++
	}
	if got[http.StatusOK] < 1 || got[http.StatusServiceUnavailable] < 1 || got[http.StatusOK]+got[http.StatusServiceUnavailable] != 10 {
		t.Errorf("got statuses %v, want only 200 and 503, and both", got)
	}
	if n := testutil.ToFloat64(s.server.metrics.points); n != 0 {
		t.Errorf("got %v points in use while responses are written, want 0", n)
	}
	res, text := s.do(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer bob"})
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
}

// gqlgen counts introspection as free.
func TestIntrospectionHasComplexity(t *testing.T) {
	s := newTestServer(t, Config{Introspection: true})
	modern := map[string]string{"Content-Type": request.MediaJSON, "Accept": request.MediaGraphQL}
	res, text := s.do(t, "POST", "/", query(document.IntrospectionQuery), modern)
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
	whole := strings.Replace(document.IntrospectionQuery, "query Introspection", "fragment All on Query", 1)
	for _, tt := range []struct {
		name, document string
		want           want
	}{
		{"complete, once", "{ ...All } " + whole, want{200, request.MediaGraphQL, "*", nil, nil}},
		{"types twenty times", "{" + repeatNumbered(20, " a%d: __schema { types { ...T } }") + " } fragment T on __Type { name description fields { name description type { name kind } args { name description type { name } } } }", want{400, request.MediaGraphQL, "-", []string{errcode.ComplexityExceeded}, nil}},
		{"one type twenty times", "{" + repeatNumbered(20, ` a%d: __type(name: "Query") { name fields { name } }`) + " }", want{200, request.MediaGraphQL, "*", nil, nil}},
		{"with other fields", "{ sum __schema { queryType { name } } }", want{200, request.MediaGraphQL, "*", nil, nil}},
		{"below the types", "{ __schema { types { fields { type { fields { " + repeatNumbered(20, "a%d: description ") + "} } } } } }", want{400, request.MediaGraphQL, "-", []string{errcode.ComplexityExceeded}, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.do(t, "POST", "/", query(tt.document), modern)
			tt.want.check(t, res, text)
		})
	}
}

func TestEventWithoutMemoryEndsStream(t *testing.T) {
	s := newStreamServer(t, Config{Limits: Limits{Memory: 40 * kb}}) // an event of 10 KB uses more than a quarter
	rest := s.stream(t, postRequest("subscription { flood }"), "").readAll()
	if !strings.Contains(rest, errcode.Unavailable) || !strings.HasSuffix(rest, completeEvent) {
		t.Errorf("got %q, want the code %s and the end", rest, errcode.Unavailable)
	}
	wantUnused(t, s.server.memory)
}

func TestCallerParsesOneNewDocumentAtATime(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser, Limits: Limits{RunningWait: 500 * time.Millisecond}})
	as := func(user, document string) (*responseHead, []byte) {
		return s.do(t, "POST", "/", query(document), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user})
	}
	fine := want{200, request.MediaJSON, `{"sum":0}`, nil, nil}
	res, text := as("ann", "{ sum }")
	fine.check(t, res, text)
	release, err := s.server.docs.Wait(t.Context(), "u:ann") // one document is being parsed
	if err != nil {
		t.Fatal(err)
	}
	res, text = as("ann", "{ sum } # new")
	want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
	res, text = as("ann", "{ sum }") // it is cached
	fine.check(t, res, text)
	res, text = as("bob", "{ sum } # newer")
	fine.check(t, res, text)
	release()
	res, text = as("ann", "{ sum } # new")
	fine.check(t, res, text)
}

func TestLongDocumentIsTooLargeWithLittleMemory(t *testing.T) {
	s := newTestServer(t, Config{})
	res, text := s.do(t, "POST", "/", query("{ sum } #"+strings.Repeat("x", 500_000)), map[string]string{"Content-Type": request.MediaJSON})
	want{200, request.MediaJSON, "-", []string{errcode.DocumentTooLarge}, nil}.check(t, res, text)
}

// The document of a GET is a substring of the URL, which the cache must not retain.
func TestDocumentCacheRetainsOnlyDocuments(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{AnonymousRate: -1}})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const requests, padding = 2000, 14_000
	before := heap()
	for i := range requests {
		target := fmt.Sprintf("/?query={a%d:__typename}&x=%s", i, strings.Repeat("x", padding))
		w := httptest.NewRecorder()
		s.server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("got %d %s, want 200", w.Code, w.Body)
		}
	}
	if grown := int64(heap()) - int64(before); grown > requests*padding/2 {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, requests*padding/2)
	}
	if n := s.server.docs.Len(); n < requests/2 {
		t.Errorf("got %d cached documents, want at least %d", n, requests/2)
	}
}

func TestPersistedDocumentNeedsMemory(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{Memory: 800 * kb}})
	text := "{ sum #" + strings.Repeat("x", 3000) + "\n}"
	hash := sha256.Sum256([]byte(text))
	named := hex.EncodeToString(hash[:])
	s.server.docs.Persist(named, text)
	body := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + named + `"}}}`
	res, response := s.do(t, "POST", "/", body, map[string]string{"Content-Type": request.MediaJSON})
	want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, nil}.check(t, res, response)
	wantUnused(t, s.server.memory)
}

func TestSubscriptionReleasesRequestMemory(t *testing.T) {
	s := newStreamServer(t, Config{})
	e := s.stream(t, postRequest("subscription { ticks { text } } #"+strings.Repeat("x", 60_000)), "")
	eventually(t, "the subscription runs", func() bool { return s.schema.Subscriptions() == 1 })
	if n := bytesUsed(s.server.memory); n > 40_000 { // for its document
		t.Errorf("got %d bytes in use, want at most 40000", n)
	}
	e.cancel()
}

func TestMutationAnswersWithoutMemory(t *testing.T) {
	s := newTestServer(t, Config{Limits: Limits{Memory: 4 * mb}})
	body := func(kind string) string {
		document := kind + `($n: String!) {` + repeatNumbered(5, ` a%d: `+map[string]string{"query": "hello(name: $n)", "mutation": "setName(name: $n)"}[kind]) + ` }`
		return `{"query":"` + document + `","variables":{"n":"` + strings.Repeat("n", 3000) + `"}}`
	}
	modern := map[string]string{"Content-Type": request.MediaJSON, "Accept": request.MediaGraphQL}
	for _, kind := range []string{"query", "mutation"} { // to cache their documents
		res, text := s.do(t, "POST", "/", body(kind), modern)
		want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
	}
	for _, other := range []string{"a", "b", "c", "d"} {
		if !s.server.memory.Take(other, mb) {
			t.Fatal("cannot reserve the memory")
		}
	}
	res, text := s.do(t, "POST", "/", body("query"), modern)
	want{503, request.MediaGraphQL, "-", []string{errcode.Unavailable}, nil}.check(t, res, text)
	res, text = s.do(t, "POST", "/", body("mutation"), modern)
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
}

// limiting represents gqlgen extensions that would limit or change a parsed request.
type limiting struct{}

func (limiting) ExtensionName() string                   { return "limiting" }
func (limiting) Validate(graphql.ExecutableSchema) error { return nil }

func (limiting) MutateOperationContext(context.Context, *graphql.OperationContext) *gqlerror.Error {
	return nil
}

func TestUsePanicsOnUnusableExtension(t *testing.T) {
	d, err := New(gqltest.New().Executable(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "gqlserver.limiting") {
			t.Errorf("got panic %q, want the name of the extension", text)
		}
	}()
	d.Use(limiting{})
}
