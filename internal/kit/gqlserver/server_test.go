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

// Compression asks the writer below it whether it can flush by its type alone.
func TestAnEventStreamFlushesBehindTheServersOtherHandlers(t *testing.T) {
	schema, log := gqltest.New(), slog.New(slog.DiscardHandler)
	d, err := New(schema.Executable(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(observe.HTTP(d, prometheus.NewRegistry(), observe.RequestLog{Log: log}))
	defer server.Close()
	for _, encoding := range []string{"gzip", "identity", ""} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(query("subscription { ticks { text } }")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", request.MediaJSON)
		r.Header.Set("Accept", request.MediaStream)
		r.Header.Set("Accept-Encoding", encoding)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%q: no headers came: %v", encoding, err)
		}
		eventually(t, "it runs", func() bool { return schema.Push("now") == 1 })
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%q: no event came: %v", encoding, err)
			}
			if strings.Contains(line, `"text":"now"`) {
				break
			}
		}
		cancel()
		_ = res.Body.Close()
		eventually(t, "it has ended", func() bool { return schema.Subscriptions() == 0 })
	}
}

// Who does not read holds what is counted, and nobody else up: answers that wait
// to be written count as memory and no more as running.
func TestAnswersThatNobodyReadsAreBoundedAndHoldUpNobodyElse(t *testing.T) {
	s := openHouse(t, Config{Authenticate: named, Limits: Limits{Memory: 24 * mb}}) // a caller has 6 MB, an answer twice its length
	body := query("{ big(bytes: 2000000) }")
	var asked sync.WaitGroup
	defer asked.Wait()
	release := make(chan struct{})
	defer close(release)
	status := make(chan int, 10)
	for range 10 {
		asked.Go(func() {
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
		t.Errorf("statuses %v", got)
	}
	if n := testutil.ToFloat64(s.server.metrics.points); n != 0 {
		t.Errorf("%v points run while answers are written", n)
	}
	res, text := s.ask(t, "POST", "/", query("{ sum }"), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer bob"})
	want{200, request.MediaJSON, `{"sum":0}`, nil, nil}.check(t, res, text)
}

// gqlgen takes questions about the schema to be free.
func TestQuestionsAboutTheSchemaHaveAPrice(t *testing.T) {
	s := openHouse(t, Config{Introspection: true})
	modern := map[string]string{"Content-Type": request.MediaJSON, "Accept": request.MediaGraphQL}
	res, text := s.ask(t, "POST", "/", query(document.IntrospectionQuery), modern)
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
	whole := strings.Replace(document.IntrospectionQuery, "query Introspection", "fragment All on Query", 1)
	for _, tt := range []struct {
		name, document string
		want           want
	}{
		{"the whole, once", "{ ...All } " + whole, want{200, request.MediaGraphQL, "*", nil, nil}},
		{"twenty times", "{" + numbered(20, " a%d: __schema { types { ...T } }") + " } fragment T on __Type { name description fields { name description type { name kind } args { name description type { name } } } }", want{400, request.MediaGraphQL, "-", []string{errcode.ComplexityExceeded}, nil}},
		{"a type twenty times", "{" + numbered(20, ` a%d: __type(name: "Query") { name fields { name } }`) + " }", want{200, request.MediaGraphQL, "*", nil, nil}},
		{"beside other fields", "{ sum __schema { queryType { name } } }", want{200, request.MediaGraphQL, "*", nil, nil}},
		{"below the types", "{ __schema { types { fields { type { fields { " + numbered(20, "a%d: description ") + "} } } } } }", want{400, request.MediaGraphQL, "-", []string{errcode.ComplexityExceeded}, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.ask(t, "POST", "/", query(tt.document), modern)
			tt.want.check(t, res, text)
		})
	}
}

func TestAnEventForWhichThereIsNoMemoryEndsItsStream(t *testing.T) {
	s := openStreams(t, Config{Limits: Limits{Memory: 40 * kb}}) // an event of 10 KB takes more than a quarter
	rest := s.stream(t, posted("subscription { flood }"), "").rest()
	if !strings.Contains(rest, errcode.Unavailable) || !strings.HasSuffix(rest, completeEvent) {
		t.Errorf("got %q", rest)
	}
	wantUnused(t, s.server.memory)
}

func TestACallersNewDocumentsAreReadOneAfterTheOther(t *testing.T) {
	s := openHouse(t, Config{Authenticate: named, Limits: Limits{RunningWait: 500 * time.Millisecond}})
	as := func(user, document string) (*reply, []byte) {
		return s.ask(t, "POST", "/", query(document), map[string]string{"Content-Type": request.MediaJSON, "Authorization": "Bearer " + user})
	}
	fine := want{200, request.MediaJSON, `{"sum":0}`, nil, nil}
	res, text := as("ann", "{ sum }")
	fine.check(t, res, text)
	release, err := s.server.docs.Wait(t.Context(), "u:ann") // one is being read
	if err != nil {
		t.Fatal(err)
	}
	res, text = as("ann", "{ sum } # new")
	want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}.check(t, res, text)
	res, text = as("ann", "{ sum }") // it is known
	fine.check(t, res, text)
	res, text = as("bob", "{ sum } # newer")
	fine.check(t, res, text)
	release()
	res, text = as("ann", "{ sum } # new")
	fine.check(t, res, text)
}

func TestALongDocumentIsTooLargeHoweverLittleMemoryThereIs(t *testing.T) {
	s := openHouse(t, Config{})
	res, text := s.ask(t, "POST", "/", query("{ sum } #"+strings.Repeat("x", 500_000)), map[string]string{"Content-Type": request.MediaJSON})
	want{200, request.MediaJSON, "-", []string{errcode.DocumentTooLarge}, nil}.check(t, res, text)
}

// The text of a GET is a piece of its whole URL, which a cache must not keep.
func TestACacheKeepsNothingOfARequestButItsDocument(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{AnonymousRate: -1}})
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
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if grown := int64(heap()) - int64(before); grown > requests*padding/2 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := s.server.docs.Len(); n < requests/2 {
		t.Errorf("only %d documents are kept", n)
	}
}

func TestADocumentNamedByItsHashNeedsMemoryLikeAnyOther(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{Memory: 800 * kb}})
	text := "{ sum #" + strings.Repeat("x", 3000) + "\n}"
	hash := sha256.Sum256([]byte(text))
	named := hex.EncodeToString(hash[:])
	s.server.docs.Persist(named, text)
	body := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + named + `"}}}`
	res, answer := s.ask(t, "POST", "/", body, map[string]string{"Content-Type": request.MediaJSON})
	want{503, request.MediaJSON, "-", []string{errcode.Unavailable}, nil}.check(t, res, answer)
	wantUnused(t, s.server.memory)
}

func TestASubscriptionKeepsNoMemoryOfItsRequest(t *testing.T) {
	s := openStreams(t, Config{})
	e := s.stream(t, posted("subscription { ticks { text } } #"+strings.Repeat("x", 60_000)), "")
	eventually(t, "it runs", func() bool { return s.schema.Subscriptions() == 1 })
	if n := taken(s.server.memory); n > 40_000 { // of its document
		t.Errorf("%d bytes are held", n)
	}
	e.gone()
}

func TestAMutationGetsItsAnswerWhateverMemoryThereIs(t *testing.T) {
	s := openHouse(t, Config{Limits: Limits{Memory: 4 * mb}})
	body := func(kind string) string {
		document := kind + `($n: String!) {` + numbered(5, ` a%d: `+map[string]string{"query": "hello(name: $n)", "mutation": "setName(name: $n)"}[kind]) + ` }`
		return `{"query":"` + document + `","variables":{"n":"` + strings.Repeat("n", 3000) + `"}}`
	}
	modern := map[string]string{"Content-Type": request.MediaJSON, "Accept": request.MediaGraphQL}
	for _, kind := range []string{"query", "mutation"} { // so that their documents are known
		res, text := s.ask(t, "POST", "/", body(kind), modern)
		want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
	}
	for _, other := range []string{"a", "b", "c", "d"} {
		if !s.server.memory.Take(other, mb) {
			t.Fatal("the memory cannot be taken")
		}
	}
	res, text := s.ask(t, "POST", "/", body("query"), modern)
	want{503, request.MediaGraphQL, "-", []string{errcode.Unavailable}, nil}.check(t, res, text)
	res, text = s.ask(t, "POST", "/", body("mutation"), modern)
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
}

// limiting stands for gqlgen's extensions that would limit, or change, what a door has read.
type limiting struct{}

func (limiting) ExtensionName() string                   { return "limiting" }
func (limiting) Validate(graphql.ExecutableSchema) error { return nil }

func (limiting) MutateOperationContext(context.Context, *graphql.OperationContext) *gqlerror.Error {
	return nil
}

func TestAnExtensionThatWouldNeverBeAskedIsRefused(t *testing.T) {
	d, err := New(gqltest.New().Executable(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if existing, _ := recover().(string); !strings.Contains(existing, "gqlserver.limiting") {
			t.Errorf("it panics with %q", existing)
		}
	}()
	d.Use(limiting{})
}
