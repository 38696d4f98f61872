package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Once refuses requests in which a field stands more than once that must not,
// whatever its alias: a list of guesses in one request would pass by every limit
// that counts requests.
type Once struct{}

// ExtensionName implements graphql.HandlerExtension.
func (Once) ExtensionName() string { return "Once" }

// Validate implements graphql.HandlerExtension.
func (Once) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (Once) MutateOperationContext(_ context.Context, oc *graphql.OperationContext) *gqlerror.Error {
	if oc.Operation == nil || oc.Operation.Operation != ast.Mutation {
		return nil
	}
	seen := map[string]bool{}
	for _, f := range graphql.CollectFields(oc, oc.Operation.SelectionSet, []string{"Mutation"}) {
		switch f.Name {
		case "sendLoginCode", "login", "setPassword":
		default:
			continue
		}
		if seen[f.Name] {
			return &gqlerror.Error{
				Message:    f.Name + " stands at most once in a request.",
				Extensions: map[string]any{"code": "GRAPHQL_VALIDATION_FAILED"},
			}
		}
		seen[f.Name] = true
	}
	return nil
}
