package gqlserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
)

// page is a document of typical size: 20 fields, a fragment and a variable.
const page = `query Page($first: Int! = 20) {
  items(first: $first) { ...Card parent { ...Card } related { id name } }
  hello(name: "you")
  public
  viewer
}
fragment Card on Item { __typename id name parent { id name } }`

// BenchmarkCheck measures parsing, limits and validation of a request, in this package and
// in gqlgen with its limits enabled. "seen" documents are cached, "new" ones are not.
func BenchmarkCheck(b *testing.B) {
	d, err := New(gqltest.New().Executable(), Config{Introspection: true})
	if err != nil {
		b.Fatal(err)
	}
	es := gqltest.New().Executable()
	docs, err := newDocuments(es, &d.cfg, d.metrics, nil)
	if err != nil {
		b.Fatal(err)
	}
	exec := document.NewExecutor(es, docs, d.present, d.recovered)
	stock := gqlgen.New(gqltest.New().Executable())
	stock.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	stock.SetParserTokenLimit(5000)
	stock.Use(extension.FixedComplexityLimit(5000))
	inGqlgen := func(ctx context.Context, params *graphql.RawParams) gqlerror.List {
		_, errs := stock.CreateOperationContext(ctx, params)
		return errs
	}
	inServer := func(ctx context.Context, params *graphql.RawParams) gqlerror.List {
		_, _, errs := exec.Prepare(ctx, "", nil, params)
		return errs
	}
	for _, bench := range []struct {
		name    string
		prepare func(context.Context, *graphql.RawParams) gqlerror.List
		seen    bool
	}{{"seen/gqlgen", inGqlgen, true}, {"seen/server", inServer, true}, {"new/gqlgen", inGqlgen, false}, {"new/server", inServer, false}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := graphql.StartOperationTrace(context.Background())
			for i := 0; b.Loop(); i++ {
				text := page
				if !bench.seen {
					text = fmt.Sprintf("%s #%d", page, i)
				}
				if errs := bench.prepare(ctx, &graphql.RawParams{Query: text}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// BenchmarkRequest serves a small request without a network, with every feature of the server
// and with gqlgen's POST transport.
func BenchmarkRequest(b *testing.B) {
	d, err := New(gqltest.New().Executable(), Config{Limits: Limits{AnonymousRate: -1}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	stock := handler.New(gqltest.New().Executable())
	stock.AddTransport(transport.POST{})
	stock.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	for _, bench := range []struct {
		name    string
		handler http.Handler
	}{{"gqlgen", stock}, {"server", d}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			body := query("query Hello($n: String) { hello(name: $n) viewer }")
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				bench.handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

// BenchmarkWarm serves a signed-in request with a cached document: the usual cost of the
// package without the fields. Its response writer only supports deadlines.
func BenchmarkWarm(b *testing.B) {
	admitted := AuthResult{User: "1", Session: "s", WithContext: func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, "1") }}
	d, err := New(gqltest.New().Executable(), Config{
		Limits: Limits{UserRate: -1, AnonymousRate: -1, AuthLookups: -1}, Log: slog.New(slog.DiscardHandler),
		Authenticate: func(_ context.Context, c Credentials) AuthResult {
			if c.Token == "" {
				return AuthResult{}
			}
			return admitted
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	text := query("query Hello($name: String, $first: Int!) {\n  hello(name: $name)\n  items(first: $first) {\n    id\n    name\n  }\n}")
	text = strings.TrimSuffix(text, "}") + `,"operationName":"Hello","variables":{"name":"Li","first":0}}`
	template := httptest.NewRequest(http.MethodPost, "/graphql", nil)
	template.ContentLength = int64(len(text))
	template.Header.Set("Content-Type", "application/json")
	template.Header.Set("Authorization", "Bearer token")
	body, w := strings.NewReader(text), &discardWriter{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r := *template
		body.Reset(text)
		r.Body = io.NopCloser(body)
		clear(w.header)
		d.ServeHTTP(w, &r)
		if w.status != http.StatusOK || w.written < 30 {
			b.Fatal(w.status, w.written)
		}
	}
}

// discardWriter discards the body.
type discardWriter struct {
	header          http.Header
	status, written int
}

func (w *discardWriter) Header() http.Header            { return w.header }
func (w *discardWriter) WriteHeader(status int)         { w.status = status }
func (w *discardWriter) Write(p []byte) (int, error)    { w.written = len(p); return len(p), nil }
func (*discardWriter) SetReadDeadline(time.Time) error  { return nil }
func (*discardWriter) SetWriteDeadline(time.Time) error { return nil }
