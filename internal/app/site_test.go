package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
	"github.com/tandian-dev/tandian/internal/web"
)

// browsed returns the response to a browser that opens a path.
func browsed(t *testing.T, s *apptest.Server, path string) (status int, contentType string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, res.Header.Get("Content-Type")
}

func TestAppIsServedAtEveryPageAddress(t *testing.T) {
	s := apptest.Embedded(t).Start(t)
	for path, want := range map[string]int{
		"/": 200, "/feed": 200, "/orders/" + absent("Order"): 200, "/playground": 200,
		"/shops/" + absent("Shop"): 404, "/notes/Tm90ZTox/comments": 404, "/metric": 404,
	} {
		if status, kind := browsed(t, s, path); status != want || kind != "text/html; charset=utf-8" {
			t.Errorf("%s: %d, %s; want a page with %d", path, status, kind, want)
		}
	}
	for _, path := range []string{
		"/graphql/more", "/visit/more", "/webhooks", "/webhooks/payment", "/webhooks/other", "/media", "/media/", "/media/more", "/media/a/b.jpg",
		"/demo", "/demo/logins/more", "/healthz/more", "/readyz/more", "/metrics/more", "/assets", "/assets/app-00000000.js",
	} {
		if status, kind := browsed(t, s, path); status != http.StatusNotFound || strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: %d, %s; want 404 and no page", path, status, kind)
		}
	}
	for _, path := range []string{"/graphql", "/visit", "/demo/logins", "/healthz", "/readyz", "/metrics"} {
		if _, kind := browsed(t, s, path); strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: %s, want no page", path, kind)
		}
	}
}

// rejectsDocument reports whether an answer rejects the document, or does not know it. It ignores
// uploads, because variables cannot contain a file.
func rejectsDocument(answer string) bool {
	if strings.Contains(answer, "Upload") {
		return false
	}
	return slices.ContainsFunc([]string{
		"GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED", "BAD_REQUEST", "DOCUMENT_TOO_LARGE", "COMPLEXITY_LIMIT_EXCEEDED",
		"PERSISTED_QUERY_NOT_FOUND", "NOT_ACCEPTABLE", "PAYLOAD_TOO_LARGE",
	}, func(code string) bool { return strings.Contains(answer, `"`+code+`"`) })
}

// rejections requests documents by hash and returns the answers that reject them. The schema
// has no services, so accepted documents fail or are unauthenticated.
func rejections(t *testing.T, documents map[string]string) (all []string) {
	t.Helper()
	config := graph.New(graph.Services{})
	d, err := gqlserver.New(generated.NewExecutableSchema(config), gqlserver.Config{
		TrustedDocuments: documents, Limits: gqlserver.Limits{AnonymousRate: -1}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return []string{err.Error()}
	}
	for hash, text := range documents {
		tree, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range tree.Operations {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", bytes.NewReader(requestBody(t, hash, op, config.Schema)))
			r.Header.Set("Content-Type", "application/json")
			if r.Header.Set("Accept", "application/json"); op.Operation == ast.Subscription {
				r.Header.Set("Accept", "text/event-stream")
			}
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if rejectsDocument(w.Body.String()) {
				all = append(all, op.Name+": "+w.Body.String())
			}
		}
	}
	return all
}

// requestBody returns the body of a request for an operation by the hash of its document, with
// generated variables.
func requestBody(t *testing.T, hash string, op *ast.OperationDefinition, schema *ast.Schema) []byte {
	t.Helper()
	variables := map[string]any{}
	for _, v := range op.VariableDefinitions {
		if v.DefaultValue == nil {
			variables[v.Variable] = sampleValue(schema, v.Type)
		}
	}
	body, err := json.Marshal(map[string]any{
		"operationName": op.Name, "variables": variables,
		"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// entries is the page size of the app, if it is a variable.
const entries = 20

// sampleValue returns a minimal value of a type. Each number is entries, because it may be a page
// size.
func sampleValue(schema *ast.Schema, typ *ast.Type) any {
	def := schema.Types[typ.Name()]
	switch {
	case typ.Name() == "Int":
		if typ.Elem != nil {
			return []any{entries}
		}
		return entries
	case !typ.NonNull:
		return nil
	case typ.Elem != nil:
		return []any{sampleValue(schema, typ.Elem)}
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		object := map[string]any{}
		for _, f := range def.Fields {
			if value := sampleValue(schema, f.Type); value != nil && f.DefaultValue == nil {
				object[f.Name] = value
			}
		}
		return object
	}
	switch typ.Name() {
	case "Float":
		return 1.5
	case "Boolean":
		return true
	case "Time":
		return "2026-01-02T03:04:05Z"
	case "Date":
		return "2026-01-02"
	}
	return "U2hvcDox" // an ID or any text
}

// documentsOf returns texts by their hashes.
func documentsOf(texts ...string) map[string]string {
	all := map[string]string{}
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		all[hex.EncodeToString(sum[:])] = text
	}
	return all
}

func TestServerRunsEveryDocumentOfTheApp(t *testing.T) {
	site, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, rejection := range rejections(t, site.Documents()) {
		t.Error(rejection)
	}
}

func TestUnusableDocumentsAreReported(t *testing.T) {
	tests := []struct {
		name, document string
		want           string // part of the rejection; "" for none
	}{
		{"a query", "query Q { shopTypes { name } }", ""},
		{"a query with variables", "query Q($near: NearInput!, $first: Int!, $after: Cursor) { shops(near: $near, first: $first, after: $after) { edges { node { name } } } }", ""},
		{"a mutation", "mutation M($input: LoginInput!) { login(input: $input) { token } }", ""},
		{"a subscription", "subscription S($id: ID!) { stockUpdates(voucherId: $id) { __typename } }", ""},
		{"a removed field", "query Q { gone }", `Cannot query field "gone"`},
		{"too many points", "query Q($n: Int!) { shops(first: $n) { edges { node { notes(first: 50) { edges { node { shop { notes(first: 50) { edges { node { id } } } } } } } } } } }", "COMPLEXITY_LIMIT_EXCEEDED"},
		{"too deep", "query Q { me " + strings.Repeat("{ shops { edges { node { owner ", 5) + "{ id }" + strings.Repeat(" } } } }", 5) + " }", "levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := rejections(t, documentsOf(tt.document))
			if found := len(got) == 1 && strings.Contains(got[0], tt.want); tt.want == "" && len(got) > 0 || tt.want != "" && !found {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// No client has sent a document before.
func TestServerKnowsTheDocumentsOfItsApp(t *testing.T) {
	site, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	if len(site.Documents()) == 0 {
		t.Fatal("the build has no documents")
	}
	s := apptest.Embedded(t).Start(t)
	for hash, text := range site.Documents() {
		body := `{"operationName":"-","extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}}`
		res, err := http.Post(s.URL+"/graphql", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || strings.Contains(string(answer), "PERSISTED_QUERY_NOT_FOUND") {
			t.Errorf("%s, %v: %s", answer, err, text)
		}
	}
}
