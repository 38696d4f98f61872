package graph

import (
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// A field without a plan makes each query with it several times as expensive. A comment
// in graph/generated/plans.go gives the reason why the generator omitted a field.
func TestPlansCoverEveryQueryField(t *testing.T) {
	s := executable().Schema()
	tables := generated.Plans(New(Services{}))
	known := map[string]*plan.Type{}
	var walk func(typ *plan.Type)
	walk = func(typ *plan.Type) {
		if known[typ.Name] != nil {
			return
		}
		known[typ.Name] = typ
		for _, to := range typ.To() {
			walk(to)
		}
	}
	walk(tables.Query)
	n := 0
	for name, typ := range known {
		d := s.Types[name]
		if d.Kind != ast.Object {
			continue
		}
		for _, f := range fields(d) {
			if n++; typ.Fields[f.Name] == nil {
				t.Errorf("no plan answers %s.%s", name, f.Name)
			}
		}
	}
	if n < 200 {
		t.Errorf("got %d fields, want at least 200", n)
	}
	for _, f := range fields(s.Subscription) {
		if len(tables.Events[f.Name]) == 0 {
			t.Errorf("no plan answers %s", f.Name)
		}
	}
}
