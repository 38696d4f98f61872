package sqldb

import (
	"context"
	"errors"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestStatementSpansContainNoValues(t *testing.T) {
	long := "SELECT word FROM things WHERE n IN (" + strings.Repeat("1, ", 1000) + "1)"
	tests := []struct {
		name, statement string
		rows            bool
		want            testkit.Span
		collection      string
	}{
		{"a select", "SELECT word FROM \"things\" WHERE word = $1", true, testkit.Span{Name: "SELECT things"}, "things"},
		{"a select over lines", "select word\nFROM things\nWHERE word = $1", true, testkit.Span{Name: "SELECT"}, ""}, // not the form of ent
		{"a select of a select", "SELECT word FROM (SELECT word FROM things) x WHERE word = $1", true, testkit.Span{Name: "SELECT"}, ""},
		{"an insert", "INSERT INTO `things` (word) VALUES ($1)", false, testkit.Span{Name: "INSERT things"}, "things"},
		{"an update", "UPDATE things SET word = $1", false, testkit.Span{Name: "UPDATE things"}, "things"},
		{"a delete", "DELETE FROM things WHERE word = $1", false, testkit.Span{Name: "DELETE things"}, "things"},
		{"something else", "WITH x AS (SELECT $1) SELECT * FROM x", true, testkit.Span{Name: "WITH"}, ""},
		{"a missing table", "SELECT word FROM nothing WHERE word = $1", true, testkit.Span{Name: "SELECT nothing", Failed: true}, "nothing"},
		{"a long one", long + " AND word = $1", true, testkit.Span{Name: "SELECT things"}, "things"},
	}
	eachDialect(t, func(t *testing.T, db *SQL) {
		mustExec(t, db, "CREATE TABLE things (n BIGINT, word TEXT)")
		driver := db.Driver(NewSQLMetrics(prometheus.NewRegistry(), nil))
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				statement := tt.statement
				if db.Dialect == "postgres" {
					statement = strings.ReplaceAll(statement, "`", `"`)
				}
				got := testkit.ClientSpans(t, func(ctx context.Context) {
					var rows entsql.Rows
					var err error
					if tt.rows {
						if err = driver.Query(ctx, statement, []any{"secret"}, &rows); err == nil {
							err = errors.Join(rows.Close(), rows.Err())
						}
					} else {
						err = driver.Exec(ctx, statement, []any{"secret"}, nil)
					}
					if (err != nil) != tt.want.Failed {
						t.Errorf("got %v", err)
					}
				})
				want := tt.want
				want.Attributes = map[string]any{
					"db.system.name":    map[string]string{"postgres": "postgresql", "sqlite3": "sqlite"}[db.Dialect],
					"db.operation.name": strings.Fields(want.Name)[0],
					"db.query.text":     statement[:min(len(statement), maxQueryText)],
				}
				if tt.collection != "" {
					want.Attributes["db.collection.name"] = tt.collection
				}
				for _, s := range got {
					if kind, ok := s.Attributes["error.type"]; ok && want.Failed {
						want.Attributes["error.type"] = kind // of the driver
					}
				}
				if d := cmp.Diff([]testkit.Span{want}, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		}
	})
}

func TestStatementsInTransactionsHaveSpans(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		driver := db.Driver(NewSQLMetrics(prometheus.NewRegistry(), nil))
		got := testkit.ClientSpans(t, func(ctx context.Context) {
			if err := run(ctx, driver, true, "SELECT 1", true); err != nil {
				t.Error(err)
			}
		})
		if len(got) != 1 || got[0].Name != "SELECT" {
			t.Errorf("got spans %+v", got)
		}
	})
}

func TestStatementsOutsideRequestsAreNotTraced(t *testing.T) {
	allocated := testing.AllocsPerRun(100, func() {
		statementSpan(t.Context(), "postgres", "SELECT word FROM things").End()
	})
	if allocated != 0 {
		t.Errorf("got %v allocations", allocated)
	}
}
