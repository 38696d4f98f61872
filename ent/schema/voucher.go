package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Voucher is an offer of a shop: the buyer pays a price for goods of at least that value. A flash
// voucher also has a [FlashSale] of the same id.
type Voucher struct{ ent.Schema }

// Fields of a voucher.
func (Voucher) Fields() []ent.Field {
	return append([]ent.Field{
		field.Int64("id"),
		field.String("external_id").Optional().Nillable().Unique().Immutable().MaxLen(200).Comment("name in the seed"),
		field.Int64("shop_id").Immutable(),
		field.Enum("kind").Values("ORDINARY", "FLASH").Immutable(),
		field.String("title").NotEmpty().MaxLen(480),
		field.String("sub_title").Optional().Nillable().MaxLen(800),
		field.Text("rules").Optional().Nillable(),
		field.Int("pay_value").Immutable().NonNegative().Comment("minor units to pay"),
		field.Int("face_value").Immutable().NonNegative().Comment("minor units of goods"),
		field.Bool("one_per_user").Immutable().Comment("at most one live order per user; always true for flash vouchers"),
		field.Enum("status").Values("ON_SALE", "OFF_SALE").Default("ON_SALE"),
		field.Int64("version").Default(1).Comment("raised by every update of it or edit of its sale; orders cache writes"),
		field.Int64("first_terms_id").Optional().Nillable().Comment("row of voucher_terms with the texts before their first edit; null until then"),
		field.Int64("terms_id").Optional().Nillable().Comment("row of voucher_terms with the current texts; null before their first edit"),
	}, createdAndUpdated()...)
}

// Edges of a voucher.
func (Voucher) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("shop", Shop.Type).Ref("vouchers").Field("shop_id").Unique().Required().Immutable(),
		edge.To("sale", FlashSale.Type).Unique(),
	}
}

// Indexes of a voucher: the vouchers of a shop, newest first.
func (Voucher) Indexes() []ent.Index {
	return []ent.Index{index.Fields("shop_id", "id").Annotations(entsql.DescColumns("id"))}
}
