package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// FlashSale is the stock and the window of a flash voucher, whose id it has. Its
// times are numbers, milliseconds since 1970: they are compared with the clock of
// Redis, which counts so, and by the same operators in both dialects.
type FlashSale struct{ ent.Schema }

// Annotations of a sale. The stock never falls below nothing, whatever else fails.
func (FlashSale) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("flash_sales"),
		entsql.Checks(map[string]string{"flash_sales_stock": "stock >= 0 AND stock <= initial_stock"}),
	}
}

// Fields of a sale.
func (FlashSale) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the voucher's"),
		field.Int64("voucher_id").Unique().Immutable().Comment("the same; ent wants a column of its own for the edge"),
		field.Int("stock").Comment("pieces that no live order has"),
		field.Int("initial_stock").Comment("stock and live orders together; edits move both"),
		field.Int64("begins_at").Comment("milliseconds"),
		field.Int64("ends_at").Comment("milliseconds"),
		field.Int("partition").Immutable().NonNegative().Comment("of the keys in Redis and of the order queue"),
		field.Int("buckets").Immutable().Positive().Comment("over which its buyers are spread in Redis"),
		field.Int64("edit_seq").Default(1).Comment("raised by every edit of stock, window or status: Redis takes only what is newer"),
		field.Int64("swept_at").Optional().Nillable().Comment("milliseconds; its keys were removed from Redis"),
	}
}

// Edges of a sale.
func (FlashSale) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("voucher", Voucher.Type).Ref("sale").Field("voucher_id").Unique().Required().Immutable(),
	}
}

// Indexes of a sale: by its end, as lists want them; and those that are in Redis, as the
// reconciler does, who looks every two seconds for the few that are over.
func (FlashSale) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("ends_at", "id"),
		index.Fields("ends_at", "id").StorageKey("flashsale_unswept").Annotations(entsql.IndexWhere("swept_at IS NULL")),
	}
}
