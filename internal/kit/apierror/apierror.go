// Package apierror defines errors that may be shown to clients.
//
// An error without an [Error] in its chain is internal: the server logs it and shows INTERNAL
// without its text.
package apierror

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Kind classifies an [Error]. The list is closed: clients handle each kind everywhere.
type Kind string

// The kinds, as clients see them in extensions.code.
const (
	BadUserInput    Kind = "BAD_USER_INPUT"
	Unauthenticated Kind = "UNAUTHENTICATED"
	Forbidden       Kind = "FORBIDDEN"
	RateLimited     Kind = "RATE_LIMITED"
	Unavailable     Kind = "UNAVAILABLE"
	Timeout         Kind = "TIMEOUT"
	Internal        Kind = "INTERNAL"
)

// An Error is an error that a client may read. Compare with [errors.As] or [KindOf].
type Error struct {
	Kind    Kind
	Message string // human-readable sentence without secrets
	// RetryAfter is the time until a retry makes sense; 0 means unknown.
	RetryAfter time.Duration
	cause      error
}

// ErrNotFound is the error, wrapped or not, for an object that does not exist or that the
// viewer must not see. It is not an [Error]: GraphQL shows null.
var ErrNotFound = errors.New("object not found")

// New returns an Error with a message for the client.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// WithRetryAfter returns a copy of e with RetryAfter set to wait.
func (e *Error) WithRetryAfter(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// BadInput returns New(BadUserInput, …).
func BadInput(format string, args ...any) *Error {
	return New(BadUserInput, format, args...)
}

// WithCause returns a copy of e that wraps cause. Error() contains the cause for the log,
// Message does not.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the first [Error] in the chain of err, or [Internal].
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Kind
	}
	return Internal
}

// A Code identifies a reason in userErrors. Each domain package defines its own codes.
type Code string

// Codes that all domain packages share.
const (
	InvalidInput Code = "INVALID_INPUT" // a field is out of bounds
	NotFound     Code = "NOT_FOUND"     // the object to change does not exist
)

// A UserError is one reason for a rejection that the user, not the client program, can fix.
type UserError struct {
	Code    Code
	Message string   // human-readable sentence without secrets
	Field   []string // path of the argument, outermost first; nil for none
	// RetryAfter is the time until the same request can succeed; 0 means unknown.
	RetryAfter time.Duration
}

// RetryAfterSeconds returns RetryAfter in whole seconds, rounded up, or nil if it is unknown.
func (e UserError) RetryAfterSeconds() *int {
	if e.RetryAfter <= 0 {
		return nil
	}
	seconds := int((e.RetryAfter + time.Second - 1) / time.Second)
	return &seconds
}

// UserErrors holds all reasons for a rejection, so that a form can show them together.
// Services return them as an error; GraphQL shows them as data.
type UserErrors []UserError

// Refuse returns UserErrors with one reason. field is the path of the argument.
func Refuse(code Code, message string, field ...string) UserErrors {
	return UserErrors{{Code: code, Message: message, Field: field}}
}

// Add appends a reason about a field of the mutation argument "input".
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

// OrNil returns e as an error, or nil if e is empty.
func (e UserErrors) OrNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
