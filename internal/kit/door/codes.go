package door

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Codes of errors, in extensions.code. Requests are refused with these, whole;
// a field's errors have the codes that Config.Present gives them.
const (
	codeParse        = "GRAPHQL_PARSE_FAILED"
	codeValidation   = "GRAPHQL_VALIDATION_FAILED"
	codeBadRequest   = "BAD_REQUEST"
	codeDocument     = "DOCUMENT_TOO_LARGE"
	codeComplexity   = "COMPLEXITY_LIMIT_EXCEEDED"
	codeNotPersisted = "PERSISTED_QUERY_NOT_FOUND"
	codePayload      = "PAYLOAD_TOO_LARGE"
	codeMediaType    = "UNSUPPORTED_MEDIA_TYPE"
	codeMethod       = "METHOD_NOT_ALLOWED"
	codeAcceptable   = "NOT_ACCEPTABLE"
	codeBatching     = "BATCHING_NOT_SUPPORTED"
	codeAnswer       = "RESPONSE_TOO_LARGE"
	codeCSRF         = "CSRF"
	codeRate         = "RATE_LIMITED"
	codeUnavailable  = "UNAVAILABLE"
	codeTimeout      = "TIMEOUT"
	codeUnknown      = "UNAUTHENTICATED"
	codeInternal     = "INTERNAL"
)

// refusal is an error about a whole request.
func refusal(code, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{Message: fmt.Sprintf(format, args...), Extensions: map[string]any{"code": code}}
}

// codeOf is the code of an error, or "".
func codeOf(err *gqlerror.Error) string {
	code, _ := err.Extensions["code"].(string)
	return code
}

// over says whether a number is beyond a limit; a negative limit is none.
func over(n, limit int) bool { return limit >= 0 && n > limit }
