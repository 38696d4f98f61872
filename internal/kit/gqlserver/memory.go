package gqlserver

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// memoryOf is the memory of a caller's request, of which nothing is taken.
func (d *Server) memoryOf(c caller) *quota.Memory { return quota.NewMemory(d.memory, c.key) }

// How much more than its length a body takes until it is decoded, and an answer
// until it is written: as it came, and as it is sent.
const (
	bodyFactor   = 4
	answerFactor = 2
)

// takeAnswer asks for what an answer takes. That of a mutation gets it in any
// case: what was done cannot be asked for once more.
func takeAnswer(m *quota.Memory, op *operation, res *graphql.Response) bool {
	n := answerFactor * max(0, len(res.Data)-freeBytes)
	if op.oc.Operation.Operation == ast.Mutation {
		m.Give(-n)
		return true
	}
	return m.Take(n)
}

// noMemory refuses a request for which there is none now.
func noMemory() *failure {
	return &failure{http.StatusServiceUnavailable, errcode.NoMemory()}
}

// weigh returns the bytes that the variables of a request count for while it runs:
// once as they came and once as the schema has them, beyond a few that are free.
func weigh(params *graphql.RawParams) int {
	return max(0, 2*sizeOf(params.Variables)+sizeOf(params.Extensions)-freeValues)
}

const freeValues = 8 << 10

// sizeOf is about how many bytes a decoded JSON value takes.
func sizeOf(value any) int {
	const each = 48
	switch v := value.(type) {
	case string:
		return each + len(v)
	case []any:
		n := each
		for _, e := range v {
			n += sizeOf(e)
		}
		return n
	case map[string]any:
		n := each
		for k, e := range v {
			n += each + len(k) + sizeOf(e)
		}
		return n
	default:
		return each
	}
}
