package redisdb

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// commandSpan starts the span of a round trip (OpenTelemetry's "Semantic conventions for Redis").
// It records the names of commands and the digests of scripts, but no keys and no arguments.
//
// redisotel is no replacement: it records the text of every error and starts traces for work
// outside requests.
func commandSpan(ctx context.Context, role string, pipeline bool, cmds ...redis.Cmder) trace.Span {
	if !observe.IsTraced(ctx) || len(cmds) == 0 {
		return noop.Span{}
	}
	name := strings.ToUpper(cmds[0].Name())
	for _, cmd := range cmds {
		if !strings.EqualFold(cmd.Name(), name) {
			name = ""
		}
	}
	attrs := []attribute.KeyValue{semconv.DBSystemNameRedis, attribute.String("redis.role", role)}
	if digest := scriptOf(cmds[0]); name != "" && digest != "" {
		attrs = append(attrs, semconv.DBStoredProcedureName(digest))
	}
	if pipeline {
		name = strings.TrimSpace("PIPELINE " + name)
		attrs = append(attrs, semconv.DBOperationBatchSize(len(cmds)))
	}
	return observe.CallSpan(ctx, name, append(attrs, semconv.DBOperationName(name))...)
}

// scriptOf returns the digest of the script that a command runs, or "".
func scriptOf(cmd redis.Cmder) string {
	if args := cmd.Args(); cmd.Name() == "evalsha" && len(args) > 1 {
		digest, _ := args[1].(string)
		return digest
	}
	return ""
}
