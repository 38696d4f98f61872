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
		field.Float("score").Default(0).Comment("1.0 to 5.0; 0 is unrated: servers of the previous release cannot read null"),
		field.String("open_hours").Optional().Nillable().MaxLen(500),
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

// Indexes of a shop: one per list order, over all types and within one type, and the geo cells. The
// primary key serves the order by age. The indexes for searches and for the order by score are on
// expressions, see the migrations. The indexes on the column score serve the previous release; the
// next release removes them.
func (Shop) Indexes() []ent.Index {
	desc := entsql.DescColumns
	return []ent.Index{
		index.Fields("score", "id").Annotations(desc("score", "id")),
		index.Fields("type_id", "score", "id").Annotations(desc("score", "id")),
		index.Fields("sold", "id").Annotations(desc("sold", "id")),
		index.Fields("type_id", "sold", "id").Annotations(desc("sold", "id")),
		index.Fields("type_id", "id"),
		index.Fields("owner_id", "id"),
		index.Fields("geo"),
		index.Fields("type_id", "geo"),
	}
}
