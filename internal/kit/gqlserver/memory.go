package gqlserver

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

func (d *Server) memoryOf(c caller) *quota.Memory { return quota.NewMemory(d.memory, c.key) }

// Bytes charged per byte of a body, until it is decoded, and of a response, until it is written.
const (
	bodyFactor   = 4
	answerFactor = 2
)

// takeAnswer reserves memory for a response and reports whether it could. A mutation always gets
// it, as its response cannot be requested again.
func takeAnswer(m *quota.Memory, op *operation, res *graphql.Response) bool {
	n := answerFactor * max(0, len(res.Data)-freeBytes)
	if op.oc.Operation.Operation == ast.Mutation {
		m.Give(-n)
		return true
	}
	return m.Take(n)
}

func noMemory() *failure {
	return &failure{http.StatusServiceUnavailable, errcode.NoMemory()}
}

// weigh returns the bytes charged for variables while a request runs: once as received and once
// as coerced, minus freeValues.
func weigh(params *graphql.RawParams) int {
	return max(0, 2*sizeOf(params.Variables)+sizeOf(params.Extensions)-freeValues)
}

const freeValues = 8 << 10

// sizeOf estimates the memory of a decoded JSON value in bytes.
func sizeOf(value any) int {
	const overhead = 48
	switch v := value.(type) {
	case string:
		return overhead + len(v)
	case []any:
		n := overhead
		for _, e := range v {
			n += sizeOf(e)
		}
		return n
	case map[string]any:
		n := overhead
		for k, e := range v {
			n += overhead + len(k) + sizeOf(e)
		}
		return n
	default:
		return overhead
	}
}
