// Package fault gives errors a meaning that may be shown to a client.
//
// An error without a fault in its chain is an accident of ours: it is logged
// and shown as INTERNAL, never in its own words.
package fault

import (
	"errors"
	"fmt"
)

// A Kind says what sort of refusal a fault is. The list is closed: clients
// handle each of them everywhere.
type Kind string

// The kinds, named as clients see them in extensions.code.
const (
	BadUserInput    Kind = "BAD_USER_INPUT"
	Unauthenticated Kind = "UNAUTHENTICATED"
	Forbidden       Kind = "FORBIDDEN"
	RateLimited     Kind = "RATE_LIMITED"
	Unavailable     Kind = "UNAVAILABLE"
	Timeout         Kind = "TIMEOUT"
	Internal        Kind = "INTERNAL"
)

// An Error is a refusal that a client may read. Compare with [errors.As] or [KindOf].
type Error struct {
	Kind    Kind
	Message string // a sentence for people; holds nothing secret
	cause   error
}

// ErrNotFound is what a room returns, wrapped or not, where there is no such
// object or the caller may not see it. It is no refusal: the graph shows null.
var ErrNotFound = errors.New("there is no such object")

// New returns a fault with a message for the client.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// BadInput is short for New(BadUserInput, …).
func BadInput(format string, args ...any) *Error {
	return New(BadUserInput, format, args...)
}

// Because returns a copy of e that wraps cause. The cause is for the log: it
// is part of Error() but not of Message.
func (e *Error) Because(cause error) *Error {
	return &Error{Kind: e.Kind, Message: e.Message, cause: cause}
}

func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the first fault in err's chain, else [Internal].
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}
