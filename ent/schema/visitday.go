package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// VisitDay is how the site or a shop was visited on a day: what is rolled up from Redis,
// so that it outlives it.
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
		field.Int("day").Immutable().Comment("yyyymmdd, of the zone that was configured then"),
		field.Int("uniques").Comment("how many different visitors the sketch says there were"),
		field.Int64("views"),
		field.Bytes("sketch").Comment("HyperLogLog of the visitors, as Redis keeps it"),
		field.String("counter").MaxLen(40).Comment("name of the counter in Redis that views were taken from; a Redis that forgot begins another one"),
		field.Int64("counted").Comment("how much of that counter is in views"),
	}
}

// Indexes of a day.
func (VisitDay) Indexes() []ent.Index {
	return []ent.Index{index.Fields("shop_id", "day").Unique().StorageKey("visit_day")}
}
