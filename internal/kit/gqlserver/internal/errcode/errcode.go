// Package errcode has the error codes of refused GraphQL requests, and makes
// errors with them.
package errcode

import (
	"fmt"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Codes of errors, in extensions.code. Requests are refused with these, whole;
// a field's errors have the codes that Config.ErrorPresenter gives them.
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

// Errorf is an error about a whole request.
func Errorf(code, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{Message: fmt.Sprintf(format, args...), Extensions: map[string]any{"code": code}}
}

// Of is the code of an error, or "".
func Of(err *gqlerror.Error) string {
	code, _ := err.Extensions["code"].(string)
	return code
}

// Exceeds says whether a number is beyond a limit; a negative limit is none.
func Exceeds(n, limit int) bool { return limit >= 0 && n > limit }

// RetryLater is a refusal that says when to try again.
func RetryLater(code, message string, wait time.Duration) *gqlerror.Error {
	err := Errorf(code, "%s", message)
	err.Extensions["retryAfterSeconds"] = max(1, int((wait+time.Second-1)/time.Second))
	return err
}

// Busy refuses what found no place in time.
func Busy() *gqlerror.Error { return RetryLater(Unavailable, "The server is busy.", time.Second) }

// NoMemory refuses a request for which there is no memory now.
func NoMemory() *gqlerror.Error {
	return RetryLater(Unavailable, "The server has too many large requests and answers.", time.Second)
}

// MaxText is the longest piece of a stranger's text in an error, in bytes.
const MaxText = 300

// Truncate shortens a text to MaxText bytes, at the start of a character.
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
