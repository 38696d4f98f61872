package gqlserver

import (
	"context"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
)

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
		if said, _ := recover().(string); !strings.Contains(said, "gqlserver.limiting") {
			t.Errorf("it panics with %q", said)
		}
	}()
	d.Use(limiting{})
}

func TestAnOperationRunsTheDocumentThatTheDoorRead(t *testing.T) {
	l := newLibrary(t, Config{})
	for range 2 {
		oc, _, errs := l.prepare(t.Context(), &graphql.RawParams{Query: "{ sum }"})
		if errs != nil {
			t.Fatal(errs)
		}
		if doc, _ := l.docs.known("{ sum }"); doc == nil || oc.Doc != doc.tree {
			t.Error("gqlgen parsed the document again")
		}
	}
}
