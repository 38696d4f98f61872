// Package schema describes the tables. The rest of package ent is generated from it, except the
// helpers and the SQL files in migrate.
//
// One schema serves both dialects. Indexes on expressions and functions, which ent cannot
// express, are only in the SQL files.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"
)

// Now returns the current time with the precision of both dialects: UTC, microseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// images returns a column of pictures, in the JSON of package mediapath. It is text for ent, because
// a field.JSON would stop the linker from dropping unused methods. See entc.go.
func images() ent.Field {
	return field.Text("images").SchemaType(map[string]string{dialect.Postgres: "jsonb", dialect.SQLite: "json"}).DefaultFunc(NoImages)
}

// NoImages returns the value of images for a row without pictures.
func NoImages() string { return "[]" }

// createdAndUpdated returns the time fields of a mutable row.
func createdAndUpdated() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("updated_at").Default(Now).UpdateDefault(Now),
	}
}
