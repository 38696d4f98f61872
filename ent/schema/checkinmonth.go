package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// CheckInMonth stores the days of a month on which a user checked in. Bits are never cleared.
type CheckInMonth struct{ ent.Schema }

// Annotations of a month.
func (CheckInMonth) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("check_ins")}
}

// Fields of a month.
func (CheckInMonth) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("user_id").Immutable(),
		field.Int("month").Immutable().Comment("yyyymm, in the zone configured at that time"),
		field.Int64("days").Comment("bit d is set if the user checked in on day d, 1 to 31"),
		field.Int("points").Comment("earned by these check-ins"),
	}
}

// Indexes of a month: one row per user and month.
func (CheckInMonth) Indexes() []ent.Index {
	return []ent.Index{index.Fields("user_id", "month").Unique().StorageKey("check_in_month")}
}
