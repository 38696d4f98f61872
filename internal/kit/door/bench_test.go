package door

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/door/doortest"
)

// page is a document like those of an app: 20 fields, a fragment, a variable.
const page = `query Page($first: Int! = 20) {
  items(first: $first) { ...Card parent { ...Card } related { id name } }
  hello(name: "you")
  public
  viewer
}
fragment Card on Item { __typename id name parent { id name } }`

// BenchmarkCheck is what a request costs before it runs: parsing, limits and
// validation, here and in gqlgen with its limits switched on. "seen" is a
// document that came before, "new" one that did not.
func BenchmarkCheck(b *testing.B) {
	d, err := New(doortest.New().Executable(), Config{Introspection: true})
	if err != nil {
		b.Fatal(err)
	}
	docs, err := newDocuments(doortest.New().Executable(), &d.cfg, d.metrics)
	if err != nil {
		b.Fatal(err)
	}
	own := executor.New(docs.es)
	own.SetQueryCache(handedOver{})
	own.Use(docs)
	stock := executor.New(doortest.New().Executable())
	stock.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	stock.SetParserTokenLimit(5000)
	stock.Use(extension.FixedComplexityLimit(5000))
	for _, bench := range []struct {
		name string
		exec *executor.Executor
		seen bool
	}{{"seen/gqlgen", stock, true}, {"seen/door", own, true}, {"new/gqlgen", stock, false}, {"new/door", own, false}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := graphql.StartOperationTrace(context.Background())
			for i := 0; b.Loop(); i++ {
				text := page
				if !bench.seen {
					text = fmt.Sprintf("%s #%d", page, i)
				}
				if _, errs := bench.exec.CreateOperationContext(ctx, &graphql.RawParams{Query: text}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// BenchmarkRequest is a whole small request and its answer, without a network:
// the door with everything on, and gqlgen's own POST.
func BenchmarkRequest(b *testing.B) {
	d, err := New(doortest.New().Executable(), Config{Limits: Limits{AnonymousRate: -1}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	stock := handler.New(doortest.New().Executable())
	stock.AddTransport(transport.POST{})
	stock.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	for _, bench := range []struct {
		name    string
		handler http.Handler
	}{{"gqlgen", stock}, {"door", d}} {
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
