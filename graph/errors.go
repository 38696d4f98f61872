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

// Present returns the error presenter of gqlgen. It shows an [apierror.Error] with its code
// and message. A missed deadline becomes TIMEOUT, an invalid argument BAD_USER_INPUT, and
// an error for which unavailable returns true UNAVAILABLE. It logs any other error, except
// a cancellation, and shows it as INTERNAL with the request id and no details.
func Present(log *slog.Logger, requestID func(context.Context) string, unavailable func(error) bool) graphql.ErrorPresenterFunc {
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
			out.Path = graphql.GetFieldContext(ctx).Path() // the path of gqlgen ends with the argument, as if that were a field
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
			default: // an error of the client
			}
		case wrong != nil: // the payload of the field has no userErrors
			out.Message = wrong.Error()
			out.Extensions = map[string]any{"code": string(apierror.BadUserInput)}
		case errors.Is(err, context.DeadlineExceeded):
			out.Message = "The request took too long. Try again."
			out.Extensions = map[string]any{"code": string(apierror.Timeout)}
			log.WarnContext(ctx, "field timed out", "path", out.Path.String(), "err", err)
		case unavailable(err):
			out.Message = "This is temporarily unavailable. Try again."
			out.Extensions = map[string]any{"code": string(apierror.Unavailable), "retryAfterSeconds": 1}
			log.WarnContext(ctx, "field unavailable", "path", out.Path.String(), "err", err)
		case shown != nil && argument:
			out.Message = shown.Message
			out.Extensions = map[string]any{"code": string(apierror.BadUserInput)}
		default:
			out.Message = "Something went wrong. We have logged the error."
			out.Extensions = map[string]any{"code": string(apierror.Internal), "requestId": requestID(ctx)}
			if !errors.Is(err, context.Canceled) {
				log.ErrorContext(ctx, "field failed", "path", out.Path.String(), "err", err)
			}
		}
		return out
	}
}

// userErrors separates errors that the user can fix, which are data, from other errors.
func userErrors(err error) (apierror.UserErrors, error) {
	if wrong, ok := errors.AsType[apierror.UserErrors](err); ok {
		return wrong, nil
	}
	return nil, err
}

// request returns an error about a whole request with a code. Errors of gqlgen without a
// code are about unreadable requests and quote them at any length.
func request(e *gqlerror.Error) *gqlerror.Error {
	if e.Extensions["code"] != nil || len(e.Path) > 0 {
		return e
	}
	return &gqlerror.Error{
		Message:    "The request is not a JSON object with a GraphQL query.",
		Extensions: map[string]any{"code": "BAD_REQUEST"},
	}
}

// badArgument reports whether the arguments of the current field are invalid. gqlgen
// reports that like an error of the resolver, but without arguments.
func badArgument(ctx context.Context) bool {
	f := graphql.GetFieldContext(ctx)
	return f != nil && f.Args == nil && f.Field.Field != nil && f.Field.Definition != nil && len(f.Field.Definition.Arguments) > 0
}
