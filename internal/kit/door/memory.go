package door

import (
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// memory counts the bytes that one request takes of what all have.
type memory struct {
	budget *budget
	key    string
	taken  int
}

// take asks for n bytes more.
func (m *memory) take(n int) bool {
	if n <= 0 {
		return true
	}
	if !m.budget.take(m.key, n) {
		return false
	}
	m.taken += n
	return true
}

// takeAnswer asks for what an answer takes until it is written: as it came, and
// as it is sent.
func (m *memory) takeAnswer(res *graphql.Response) bool { return m.take(answerBytes(res)) }

func answerBytes(res *graphql.Response) int { return 2 * max(0, len(res.Data)-freeBytes) }

func (m *memory) close() {
	m.budget.give(m.key, m.taken)
	m.taken = 0
}

// noMemory refuses a request for which there is none now.
func noMemory() *failure {
	return &failure{http.StatusServiceUnavailable, later(codeUnavailable, "The server has too many large requests and answers.", time.Second)}
}

// weigh is what a request is taken to need in memory as long as it runs, in
// bytes, beyond what is free: the tree of a document that is new, and the values
// of its variables, once as they came and once as the schema has them.
func (d *documents) weigh(params *graphql.RawParams) int {
	tree := 0
	if _, known := d.valid.GetIfPresent(params.Query); !known && !over(len(params.Query), d.limits.Document) {
		tree = len(params.Query) * worstTree
	}
	return max(0, tree-freeTree) + max(0, 2*sizeOf(params.Variables)+sizeOf(params.Extensions)-freeValues)
}

// What a request may need without being counted: the tree of a document of 1 KB,
// and a few variables.
const (
	freeTree   = worstTree << 10
	freeValues = 8 << 10
)

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
