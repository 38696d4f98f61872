// Package apierror gives errors a meaning that may be shown to a client.
//
// An error without a fault in its chain is an accident of ours: it is logged
// and shown as INTERNAL, never in its own words.
package apierror

import (
	"errors"
	"fmt"
	"strings"
	"time"
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
	// RetryAfter is when it makes sense to try again; 0 says nothing about it.
	RetryAfter time.Duration
	cause      error
}

// ErrNotFound is what a room returns, wrapped or not, where there is no such
// object or the caller may not see it. It is no refusal: the graph shows null.
var ErrNotFound = errors.New("there is no such object")

// New returns a fault with a message for the client.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// WithRetryAfter returns a copy of e that says when it makes sense to try again.
func (e *Error) WithRetryAfter(wait time.Duration) *Error {
	again := *e
	again.RetryAfter = wait
	return &again
}

// BadInput is short for New(BadUserInput, …).
func BadInput(format string, args ...any) *Error {
	return New(BadUserInput, format, args...)
}

// WithCause returns a copy of e that wraps cause. The cause is for the log: it
// is part of Error() but not of Message.
func (e *Error) WithCause(cause error) *Error {
	caused := *e
	caused.cause = cause
	return &caused
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

// A Code names a business refusal, as clients see it in userErrors. Those of one
// room stand there.
type Code string

// Codes of every room.
const (
	InvalidInput Code = "INVALID_INPUT" // the value of a field is out of its bounds
	NotFound     Code = "NOT_FOUND"     // there is no such object to change
)

// A UserError is one reason why something was not done that the user, and not
// the client's program, can mend.
type UserError struct {
	Code    Code
	Message string   // a sentence for people; holds nothing secret
	Field   []string // the argument that it is about, from the outside in; nil for none
	// RetryAfter is the time until the same request can succeed. 0 is unknown.
	RetryAfter time.Duration
}

// RetryAfterSeconds returns RetryAfter in whole seconds, rounded up. It returns nil
// if the time is unknown.
func (e UserError) RetryAfterSeconds() *int {
	if e.RetryAfter <= 0 {
		return nil
	}
	seconds := int((e.RetryAfter + time.Second - 1) / time.Second)
	return &seconds
}

// UserErrors are why something was not done: every reason at once, so that a
// form can show them all. They are an error like any other on its way out; the
// graph shows them as data.
type UserErrors []UserError

// Refuse returns one reason, about the argument that field names.
func Refuse(code Code, message string, field ...string) UserErrors {
	return UserErrors{{Code: code, Message: message, Field: field}}
}

// Add adds a reason about a field of a mutation's argument "input".
func (e *UserErrors) Add(code Code, field, format string, args ...any) {
	*e = append(*e, Refuse(code, fmt.Sprintf(format, args...), "input", field)...)
}

func (e UserErrors) Error() string {
	texts := make([]string, len(e))
	for i, one := range e {
		texts[i] = string(one.Code) + ": " + one.Message
	}
	return strings.Join(texts, "; ")
}

// OrNil is e as an error: nil if there is no reason.
func (e UserErrors) OrNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
