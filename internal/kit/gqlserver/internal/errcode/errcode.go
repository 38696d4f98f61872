// Package errcode defines the error codes of rejected GraphQL requests and
// creates errors with them.
package errcode

import (
	"fmt"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Error codes in extensions.code, for errors of whole requests. The codes of field
// errors come from Config.ErrorPresenter.
const (
	ParseFailed            = "GRAPHQL_PARSE_FAILED"
	ValidationFailed       = "GRAPHQL_VALIDATION_FAILED"
	BadRequest             = "BAD_REQUEST"
	DocumentTooLarge       = "DOCUMENT_TOO_LARGE"
	ComplexityExceeded     = "COMPLEXITY_LIMIT_EXCEEDED"
	PersistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"
	PayloadTooLarge        = "PAYLOAD_TOO_LARGE"
	UnsupportedMediaType   = "UNSUPPORTED_MEDIA_TYPE"
	MethodNotAllowed       = "METHOD_NOT_ALLOWED"
	NotAcceptable          = "NOT_ACCEPTABLE"
	BatchingNotSupported   = "BATCHING_NOT_SUPPORTED"
	ResponseTooLarge       = "RESPONSE_TOO_LARGE"
	CSRF                   = "CSRF"
	RateLimited            = "RATE_LIMITED"
	Unavailable            = "UNAVAILABLE"
	Timeout                = "TIMEOUT"
	Unauthenticated        = "UNAUTHENTICATED"
	Internal               = "INTERNAL"
)

// Errorf returns an error with a code, for a whole request.
func Errorf(code, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{Message: fmt.Sprintf(format, args...), Extensions: map[string]any{"code": code}}
}

// CodeOf returns the code of an error, or "".
func CodeOf(err *gqlerror.Error) string {
	code, _ := err.Extensions["code"].(string)
	return code
}

// Exceeds reports whether n is above a limit. A negative limit means no limit.
func Exceeds(n, limit int) bool { return limit >= 0 && n > limit }

// RetryLater returns an error with the time until a retry, rounded up to whole
// seconds and at least 1, in extensions.retryAfterSeconds.
func RetryLater(code, message string, wait time.Duration) *gqlerror.Error {
	err := Errorf(code, "%s", message)
	err.Extensions["retryAfterSeconds"] = max(1, int((wait+time.Second-1)/time.Second))
	return err
}

// Busy returns the error for a request whose wait for a free slot timed out.
func Busy() *gqlerror.Error {
	return RetryLater(Unavailable, "The server is busy. Try again in a moment.", time.Second)
}

// NoMemory returns the error for a request that exceeds the memory budget.
func NoMemory() *gqlerror.Error {
	return RetryLater(Unavailable, "The server is handling too many large requests. Try again in a moment.", time.Second)
}

// MaxText limits the client's text in an error, in bytes.
const MaxText = 300

// Truncate cuts s after at most [MaxText] bytes, between characters, and adds an
// ellipsis if it did.
func Truncate(s string) string {
	if len(s) <= MaxText {
		return s
	}
	end := MaxText
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
