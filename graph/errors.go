package graph

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// Present returns gqlgen's error presenter: a fault is shown with its code and
// message; what a store fails at that is away, as away tells, is UNAVAILABLE; anything
// else is logged whole and shown as INTERNAL with the request's id and nothing else
// about the inside.
func Present(log *slog.Logger, requestID func(context.Context) string, away func(error) bool) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		var shown *gqlerror.Error
		if errors.As(err, &shown) && shown.Err == nil {
			return request(shown) // gqlgen's own: parsing, validation, limits
		}
		out := &gqlerror.Error{Path: graphql.GetPath(ctx)}
		if shown != nil {
			out.Path, out.Locations = shown.Path, shown.Locations
		}
		argument := badArgument(ctx)
		if argument {
			out.Path = graphql.GetFieldContext(ctx).Path() // gqlgen's ends with the argument, as if that were a field
		}
		f, known := errors.AsType[*apierror.Error](err)
		wrong, _ := userErrors(err)
		switch {
		case known:
			out.Message = f.Message
			out.Extensions = map[string]any{"code": string(f.Kind)}
			if f.RetryAfter > 0 {
				out.Extensions["retryAfterSeconds"] = int(math.Ceil(f.RetryAfter.Seconds()))
			}
			switch f.Kind {
			case apierror.Unavailable:
				log.WarnContext(ctx, "field unavailable", "path", out.Path.String(), "err", err)
			case apierror.Internal:
				log.ErrorContext(ctx, "field failed", "path", out.Path.String(), "err", err)
			default: // a client's affair
			}
		case wrong != nil: // of a field that has no place for them
			out.Message = wrong.Error()
			out.Extensions = map[string]any{"code": string(apierror.BadUserInput)}
		case errors.Is(err, context.DeadlineExceeded):
			out.Message = "This took too long."
			out.Extensions = map[string]any{"code": string(apierror.Timeout)}
			log.WarnContext(ctx, "field timed out", "path", out.Path.String(), "err", err)
		case away(err):
			out.Message = "This does not work at the moment. Please try again."
			out.Extensions = map[string]any{"code": string(apierror.Unavailable), "retryAfterSeconds": 1}
			log.WarnContext(ctx, "field unavailable", "path", out.Path.String(), "err", err)
		case shown != nil && argument:
			out.Message = shown.Message
			out.Extensions = map[string]any{"code": string(apierror.BadUserInput)}
		default:
			out.Message = "Something went wrong here; it has been logged."
			out.Extensions = map[string]any{"code": string(apierror.Internal), "requestId": requestID(ctx)}
			if !errors.Is(err, context.Canceled) {
				log.ErrorContext(ctx, "field failed", "path", out.Path.String(), "err", err)
			}
		}
		return out
	}
}

// userErrors separates what the user can mend, which is data, from what is an
// error.
func userErrors(err error) (apierror.UserErrors, error) {
	if wrong, ok := errors.AsType[apierror.UserErrors](err); ok {
		return wrong, nil
	}
	return nil, err
}

// request gives an error about a whole request a code. gqlgen's errors without
// one are about what could not be read, and repeat it at any length.
func request(e *gqlerror.Error) *gqlerror.Error {
	if e.Extensions["code"] != nil || len(e.Path) > 0 {
		return e
	}
	return &gqlerror.Error{
		Message:    "The request is not a JSON object with a GraphQL query.",
		Extensions: map[string]any{"code": "BAD_REQUEST"},
	}
}

// badArgument says whether the present field's arguments could not be read:
// gqlgen reports that in the same way as a failure of the resolver, but has no
// arguments then.
func badArgument(ctx context.Context) bool {
	f := graphql.GetFieldContext(ctx)
	return f != nil && f.Args == nil && f.Field.Field != nil && f.Field.Definition != nil && len(f.Field.Definition.Arguments) > 0
}
