package document

import (
	"fmt"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
)

// documentsByHash returns documents by their hashes.
func documentsByHash(texts ...string) map[string]string {
	all := map[string]string{}
	for _, text := range texts {
		all[hashOf(text)] = text
	}
	return all
}

func TestTrustedDocumentsAreNeverEvicted(t *testing.T) {
	const text = "{ hello }"
	l := newFixture(t, Config{TrustedDocuments: documentsByHash(text), Limits: Limits{PersistedCache: 64 << 10, DocumentCache: 64 << 10}})
	for i := range 200 {
		other := fmt.Sprintf("{ a%d: sum }", i)
		if errs := l.read(t.Context(), graphql.RawParams{Query: other, Extensions: persistedQuery(other)}); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	before := l.lookups()
	if errs := l.read(t.Context(), graphql.RawParams{Extensions: persistedQuery(text)}); len(errs) > 0 {
		t.Fatal(errs)
	}
	before.hits++
	before.persistedHits++
	if d := cmp.Diff(before, l.lookups(), cmp.AllowUnexported(lookups{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestTrustedDocumentsUseNoCacheSpace(t *testing.T) {
	const text = "{ hello }"
	l := newFixture(t, Config{TrustedDocuments: documentsByHash(text)})
	for _, query := range []string{"", text} {
		if errs := l.read(t.Context(), graphql.RawParams{Query: query, Extensions: persistedQuery(text)}); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	if valid, persisted := l.docs.valid.EstimatedSize(), l.docs.persisted.EstimatedSize(); valid+persisted > 0 {
		t.Errorf("got %d cached documents and %d persisted texts, want 0", valid, persisted)
	}
}
