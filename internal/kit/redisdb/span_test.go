package redisdb

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestCommandSpansContainNoKeysAndArguments(t *testing.T) {
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
		{name: "a missing key is no failure", want: "GET", do: func(ctx context.Context, c redis.UniversalClient) error {
			if err := c.Get(ctx, "secret-none").Err(); !errors.Is(err, redis.Nil) {
				return errors.Join(errors.New("GET found something"), err)
			}
			return nil
		}},
		{name: "an error reply is no failure", want: "INCR", do: func(ctx context.Context, c redis.UniversalClient) error {
			if c.Incr(ctx, "secret").Err() == nil {
				return errors.New("INCR took a text")
			}
			return nil
		}},
		{name: "a stopped server is a failure", dead: true, want: "GET", failed: true, do: func(ctx context.Context, c redis.UniversalClient) error {
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
			got := testkit.ClientSpans(t, func(ctx context.Context) {
				if err := tt.do(ctx, client); err != nil {
					t.Error(err)
				}
			})
			want := testkit.Span{Name: tt.want, Attributes: map[string]any{"db.system.name": "redis", "db.operation.name": tt.want, "redis.role": "cache"}, Failed: tt.failed}
			maps.Copy(want.Attributes, tt.extra)
			if tt.failed {
				want.Attributes["error.type"] = "*errors.errorString" // errRefused
			}
			if d := cmp.Diff([]testkit.Span{want}, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestCommandsOutsideRequestsAreNotTraced(t *testing.T) {
	cmd := redis.NewCmd(t.Context(), "get", "key")
	allocated := testing.AllocsPerRun(100, func() {
		commandSpan(t.Context(), "state", false, cmd).End()
	})
	if allocated != 0 {
		t.Errorf("got %v allocations", allocated)
	}
}
