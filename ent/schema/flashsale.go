package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// FlashSale is the stock and the sale window of a flash voucher, with the same id. Times are
// milliseconds since 1970, like the clock of Redis, and both dialects compare them with the same
// operators.
type FlashSale struct{ ent.Schema }

// Annotations of a sale. The stock never becomes negative.
func (FlashSale) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("flash_sales"),
		entsql.Checks(map[string]string{"flash_sales_stock": "stock >= 0 AND stock <= initial_stock"}),
	}
}

// Fields of a sale.
func (FlashSale) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("id of the voucher"),
		field.Int64("voucher_id").Unique().Immutable().Comment("equals id; ent requires a separate column for the edge"),
		field.Int("stock").Comment("units without a live order"),
		field.Int("initial_stock").Comment("stock plus live orders; edits change both"),
		field.Int64("begins_at").Comment("milliseconds"),
		field.Int64("ends_at").Comment("milliseconds"),
		field.Int("partition").Immutable().NonNegative().Comment("partition of the Redis keys and of the order queue"),
		field.Int("buckets").Immutable().Positive().Comment("number of Redis keys for its buyers"),
		field.Int64("edit_seq").Default(1).Comment("raised by every edit of stock, window or status: Redis ignores older ones"),
		field.Int64("swept_at").Optional().Nillable().Comment("milliseconds; when its keys were deleted from Redis"),
	}
}

// Edges of a sale.
func (FlashSale) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("voucher", Voucher.Type).Ref("sale").Field("voucher_id").Unique().Required().Immutable(),
	}
}

// Indexes of a sale: by end, for lists; and the sales with keys in Redis, among which the reconciler
// finds those that are over.
func (FlashSale) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("ends_at", "id"),
		index.Fields("ends_at", "id").StorageKey("flashsale_unswept").Annotations(entsql.IndexWhere("swept_at IS NULL")),
	}
}
