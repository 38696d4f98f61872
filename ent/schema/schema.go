// Package schema describes the tables. Everything else in ent, but for the SQL
// files under migrate, is generated from it.
//
// One schema serves both dialects. What ent cannot say (indexes on
// expressions, functions) stands in the SQL files alone.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// now is the present as both dialects store it: UTC, to the microsecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// createdAndUpdated are the two times of a row that can change.
func createdAndUpdated() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Default(now).Immutable(),
		field.Time("updated_at").Default(now).UpdateDefault(now),
	}
}
