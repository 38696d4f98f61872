package store

import (
	"context"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// maxQueryText bounds a statement in a span, in bytes: one that names a thousand
// rows is mostly placeholders.
const maxQueryText = 2000

// statementSpan begins the span of a statement (OpenTelemetry's "Semantic
// conventions for SQL databases"). It keeps the text, in which ent and we write
// a placeholder for every value, and no argument.
func statementSpan(ctx context.Context, in, query string) trace.Span {
	if !observe.IsTraced(ctx) {
		return noop.Span{}
	}
	operation, table := operationOf(query), tableOf(query)
	attrs := []attribute.KeyValue{
		semconv.DBSystemNamePostgreSQL, semconv.DBOperationName(operation),
		semconv.DBQueryText(strings.ToValidUTF8(query[:min(len(query), maxQueryText)], "")),
	}
	if in == dialect.SQLite {
		attrs[0] = semconv.DBSystemNameSQLite
	}
	if table != "" {
		attrs = append(attrs, semconv.DBCollectionName(table))
	}
	return observe.CallSpan(ctx, strings.TrimSpace(operation+" "+table), attrs...)
}

// operationOf is the first word of a statement.
func operationOf(query string) string {
	for word := range strings.FieldsSeq(query) {
		return strings.ToUpper(word)
	}
	return "SQL"
}

// tableOf is the table that a statement is about, or "" where that is not plain
// to see.
func tableOf(query string) string {
	before := map[string]string{"select": " FROM ", "delete": " FROM ", "insert": " INTO ", "update": "UPDATE "}[verb(query)]
	if before == "" {
		return ""
	}
	_, rest, _ := strings.Cut(query, before)
	end := strings.IndexAny(rest+" ", " (\n")
	name := strings.Trim(rest[:end], "\"`")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return name
}

// commandSpan begins the span of a round trip (OpenTelemetry's "Semantic
// conventions for Redis"). It keeps the names of commands and the digests of
// scripts, and no key and no argument.
//
// It is not redisotel, which keeps the text of every error and begins a trace
// for what belongs to no request.
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

// scriptOf is the digest of the script that a command runs, or "".
func scriptOf(cmd redis.Cmder) string {
	if args := cmd.Args(); cmd.Name() == "evalsha" && len(args) > 1 {
		digest, _ := args[1].(string)
		return digest
	}
	return ""
}
