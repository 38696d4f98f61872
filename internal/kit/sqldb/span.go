package sqldb

import (
	"context"
	"strings"

	"entgo.io/ent/dialect"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// maxQueryText is the maximum size of a statement in a span, in bytes. A statement for a thousand
// rows consists mostly of placeholders.
const maxQueryText = 2000

// statementSpan starts the span of a statement, as in OpenTelemetry's "Semantic conventions for SQL
// databases". It records the text, which contains placeholders, and not the arguments.
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

// operationOf returns the first word of a statement in upper case.
func operationOf(query string) string {
	for word := range strings.FieldsSeq(query) {
		return strings.ToUpper(word)
	}
	return "SQL"
}

// tableOf returns the main table of a statement, or "" if the text does not show it.
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
