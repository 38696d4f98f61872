package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// span is what a test looks at of one.
type span struct {
	Name       string
	Attributes map[string]any
	Failed     bool
}

// spansOf are the spans that do makes below one of ours.
func spansOf(t *testing.T, do func(context.Context)) []span {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory))
	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	do(ctx)
	var spans []span
	for _, s := range memory.GetSpans() {
		if s.Parent.SpanID() != root.SpanContext().SpanID() || s.SpanKind != trace.SpanKindClient {
			t.Errorf("%s is a %v below %v", s.Name, s.SpanKind, s.Parent.SpanID())
		}
		one := span{s.Name, map[string]any{}, s.Status.Code == codes.Error}
		for _, a := range s.Attributes {
			one.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
		spans = append(spans, one)
	}
	if text := fmt.Sprint(memory.GetSpans()); strings.Contains(text, "secret") {
		t.Errorf("a span shows a value: %s", text)
	}
	return spans
}

func TestAStatementHasASpanWithItsTextAndNoValue(t *testing.T) {
	long := "SELECT word FROM things WHERE n IN (" + strings.Repeat("1, ", 1000) + "1)"
	tests := []struct {
		name, statement string
		rows            bool
		want            span
		collection      string
	}{
		{"a select", "SELECT word FROM \"things\" WHERE word = $1", true, span{Name: "SELECT things"}, "things"},
		{"a select over lines", "select word\nFROM things\nWHERE word = $1", true, span{Name: "SELECT"}, ""}, // not as ent writes it
		{"a select of a select", "SELECT word FROM (SELECT word FROM things) x WHERE word = $1", true, span{Name: "SELECT"}, ""},
		{"an insert", "INSERT INTO `things` (word) VALUES ($1)", false, span{Name: "INSERT things"}, "things"},
		{"an update", "UPDATE things SET word = $1", false, span{Name: "UPDATE things"}, "things"},
		{"a delete", "DELETE FROM things WHERE word = $1", false, span{Name: "DELETE things"}, "things"},
		{"something else", "WITH x AS (SELECT $1) SELECT * FROM x", true, span{Name: "WITH"}, ""},
		{"a table that there is not", "SELECT word FROM nothing WHERE word = $1", true, span{Name: "SELECT nothing", Failed: true}, "nothing"},
		{"a long one", long + " AND word = $1", true, span{Name: "SELECT things"}, "things"},
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
				got := spansOf(t, func(ctx context.Context) {
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
						t.Errorf("the statement ended with %v", err)
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
						want.Attributes["error.type"] = kind // the driver's
					}
				}
				if d := cmp.Diff([]span{want}, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		}
	})
}

func TestAStatementInATransactionHasASpanToo(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *SQL) {
		driver := db.Driver(NewSQLMetrics(prometheus.NewRegistry(), nil))
		got := spansOf(t, func(ctx context.Context) {
			if err := run(ctx, driver, true, "SELECT 1", true); err != nil {
				t.Error(err)
			}
		})
		if len(got) != 1 || got[0].Name != "SELECT" {
			t.Errorf("the spans are %+v", got)
		}
	})
}

func TestARoundTripToRedisHasASpanWithoutKeysAndArguments(t *testing.T) {
	script := redis.NewScript(`return ARGV[1]`)
	tests := []struct {
		name   string
		do     func(ctx context.Context, c redis.UniversalClient) error
		dead   bool
		want   string
		extra  map[string]any
		failed bool
	}{
		{name: "a command", want: "SET", do: func(ctx context.Context, c redis.UniversalClient) error {
			return c.Set(ctx, "secret", "secret", 0).Err()
		}},
		{name: "a command of two words", want: "CLIENT", do: func(ctx context.Context, c redis.UniversalClient) error {
			return c.Do(ctx, "client", "setname", "secret").Err()
		}},
		{name: "a pipeline", want: "PIPELINE INCR", extra: map[string]any{"db.operation.batch.size": int64(2)}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "secret1")
				p.Incr(ctx, "secret2")
				return nil
			})
			return err
		}},
		{name: "a pipeline of several kinds", want: "PIPELINE", extra: map[string]any{"db.operation.batch.size": int64(2)}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "secret1")
				p.Del(ctx, "secret2")
				return nil
			})
			return err
		}},
		{name: "a script", want: "EVALSHA", extra: map[string]any{"db.stored_procedure.name": script.Hash()}, do: func(ctx context.Context, c redis.UniversalClient) error {
			return script.EvalSha(ctx, c, []string{"secret"}, "secret").Err()
		}},
		{name: "nothing there is no failure", want: "GET", do: func(ctx context.Context, c redis.UniversalClient) error {
			if err := c.Get(ctx, "secret-none").Err(); !errors.Is(err, redis.Nil) {
				return errors.Join(errors.New("GET found something"), err)
			}
			return nil
		}},
		{name: "a refusal is no failure", want: "INCR", do: func(ctx context.Context, c redis.UniversalClient) error {
			if c.Incr(ctx, "secret").Err() == nil {
				return errors.New("INCR took a text")
			}
			return nil
		}},
		{name: "a server that is gone is a failure", dead: true, want: "GET", failed: true, do: func(ctx context.Context, c redis.UniversalClient) error {
			if c.Get(ctx, "secret").Err() == nil {
				return errors.New("a dead server answered")
			}
			return nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dial := refuse
			if !tt.dead {
				dial = embedded(t).Dial
			}
			client := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://host", Role: "cache", Dial: dial})
			if !tt.dead {
				if err := errors.Join(client.Set(t.Context(), "secret", "text", 0).Err(), script.Load(t.Context(), client).Err()); err != nil {
					t.Fatal(err)
				}
			}
			got := spansOf(t, func(ctx context.Context) {
				if err := tt.do(ctx, client); err != nil {
					t.Error(err)
				}
			})
			want := span{tt.want, map[string]any{"db.system.name": "redis", "db.operation.name": tt.want, "redis.role": "cache"}, tt.failed}
			maps.Copy(want.Attributes, tt.extra)
			if tt.failed {
				want.Attributes["error.type"] = "*errors.errorString" // errRefused
			}
			if d := cmp.Diff([]span{want}, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestWhatBelongsToNoRequestIsNotTracedAndCostsNothing(t *testing.T) {
	cmd := redis.NewCmd(t.Context(), "get", "key")
	allocated := testing.AllocsPerRun(100, func() {
		statementSpan(t.Context(), "postgres", "SELECT word FROM things").End()
		commandSpan(t.Context(), "state", false, cmd).End()
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
