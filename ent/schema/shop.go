package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Shop is a place that people visit and review.
type Shop struct{ ent.Schema }

// Fields of a shop.
func (Shop) Fields() []ent.Field {
	return append([]ent.Field{
		field.Int64("id"),
		field.String("external_id").Optional().Nillable().Unique().MaxLen(200).Comment("name in the import source"),
		field.Int64("type_id"),
		field.Int64("owner_id").Optional().Nillable().Comment("the merchant; null for an unclaimed shop"),
		field.String("name").NotEmpty().MaxLen(500),
		images(),
		field.String("area").Optional().Nillable().MaxLen(400),
		field.String("address").Default("").MaxLen(1200),
		field.Float("lat").Comment("degrees, WGS 84"),
		field.Float("lng").Comment("degrees, WGS 84"),
		field.Int64("geo").Comment("geohash of lat and lng, 50 bits: a cell is a range"),
		field.Int("avg_price").Optional().Nillable().Comment("minor units per person"),
		field.Int("sold").Default(0).Comment("paid vouchers"),
		field.Int("comment_count").Default(0).Comment("comments on notes about it"),
		field.Float("score").Default(0).Comment("imported score, the prior mean of rating_score; 0 for none"),
		field.Float("rating_score").Optional().Nillable().Comment("Bayesian average of the ratings; null without ratings"),
		field.Int("stars_1").Default(0).Comment("ratings with one star"),
		field.Int("stars_2").Default(0),
		field.Int("stars_3").Default(0),
		field.Int("stars_4").Default(0),
		field.Int("stars_5").Default(0),
		field.Int("taste_count").Default(0).Comment("ratings with a value for taste"),
		field.Int("taste_sum").Default(0),
		field.Int("environment_count").Default(0),
		field.Int("environment_sum").Default(0),
		field.Int("service_count").Default(0),
		field.Int("service_sum").Default(0),
		field.Int("save_count").Default(0).Comment("users who saved it"),
		field.Float("trend").Optional().Nillable().Comment("decayed activity, see internal/shop/trend.go; null without recent activity"),
		field.Int64("vouchers_until").Optional().Nillable().Comment("milliseconds; a voucher is on sale until then; null for none"),
		field.Int64("flash_until").Optional().Nillable().Comment("milliseconds; last end of its flash sales; null for none"),
		field.String("phone").Optional().Nillable().MaxLen(160),
		field.String("website").Optional().Nillable().MaxLen(1200),
		field.String("time_zone").Default("").MaxLen(64).Comment("IANA name; empty for the zone of the server"),
		field.String("open_hours").Optional().Nillable().MaxLen(1000),
		field.String("open_mask").Optional().Nillable().MaxLen(168).Comment("a digit for each hour of the week in UTC, see internal/shop/hours.go; null if unknown"),
		field.Int64("version").Default(1).Comment("raised by every update; orders cache writes"),
		field.Text("search").Comment("search forms of name, area and address"),
	}, createdAndUpdated()...)
}

// Edges of a shop.
func (Shop) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("type", ShopType.Type).Ref("shops").Field("type_id").Unique().Required(),
		edge.From("owner", User.Type).Ref("shops").Field("owner_id").Unique(),
		edge.To("vouchers", Voucher.Type),
	}
}

// Indexes of a shop: those of the rankings by trend and of the owner. The indexes of lists and of
// searches contain expressions, see the migrations.
func (Shop) Indexes() []ent.Index {
	desc := entsql.DescColumns
	return []ent.Index{
		index.Fields("trend", "id").Annotations(desc("trend", "id"), entsql.IndexWhere("trend IS NOT NULL")),
		index.Fields("type_id", "trend", "id").Annotations(desc("trend", "id"), entsql.IndexWhere("trend IS NOT NULL")),
		index.Fields("owner_id", "id"),
	}
}
