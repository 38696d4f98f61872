package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// VisitDay stores the visits of the site or a shop on a day. It is rolled up from Redis, so that the
// counts survive a data loss there.
type VisitDay struct{ ent.Schema }

// Annotations of a day.
func (VisitDay) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("visit_days")}
}

// Fields of a day.
func (VisitDay) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("shop_id").Immutable().Comment("0 is the site"),
		field.Int("day").Immutable().Comment("yyyymmdd, in the zone configured at that time"),
		field.Int("uniques").Comment("unique visitors, as estimated by the sketch"),
		field.Int64("views"),
		field.Bytes("sketch").Comment("HyperLogLog of the visitors, in the format of Redis"),
		field.String("counter").MaxLen(40).Comment("name of the view counter in Redis; a new one begins after a data loss"),
		field.Int64("counted").Comment("part of that counter included in views"),
	}
}

// Indexes of a day.
func (VisitDay) Indexes() []ent.Index {
	return []ent.Index{index.Fields("shop_id", "day").Unique().StorageKey("visit_day")}
}
