// Package schema describes the tables. Everything else in ent, but for the SQL
// files under migrate, is generated from it.
//
// One schema serves both dialects. What ent cannot say (indexes on
// expressions, functions) stands in the SQL files alone.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"
)

// Now returns the present as both dialects store it: UTC, to the microsecond.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// images is a column of pictures, in the JSON of package mediapath. It is text for ent: a
// field.JSON would link package reflect's lookup of methods, as entc.go explains.
func images() ent.Field {
	return field.Text("images").SchemaType(map[string]string{dialect.Postgres: "jsonb", dialect.SQLite: "json"}).DefaultFunc(NoImages)
}

// NoImages returns the column of a row without pictures.
func NoImages() string { return "[]" }

// createdAndUpdated are the two times of a row that can change.
func createdAndUpdated() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("updated_at").Default(Now).UpdateDefault(Now),
	}
}
