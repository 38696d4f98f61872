package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Payment is one attempt to pay an order. Times are milliseconds since 1970.
type Payment struct{ ent.Schema }

// Annotations of a payment.
func (Payment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("payments")}
}

// Fields of a payment. The states are:
//
//   - OPEN: the provider has not answered yet, or was not called
//   - CONFIRMED: the money has arrived
//   - REFUSED: the money will not arrive
//   - ABANDONED: the user changed the method or cancelled the order; money that still arrives is refunded
//   - REFUNDING: the provider has not confirmed the refund yet
//   - REFUNDED: the refund is complete
func (Payment) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("order_id").Immutable(),
		field.Int("attempt").Immutable().Positive().Comment("1, 2, … within the order"),
		field.Enum("method").Values("BALANCE", "ALIPAY", "WECHAT").Immutable(),
		field.Int("amount").Immutable().Comment("minor units"),
		field.String("currency").Default("CNY").MaxLen(3).Immutable().Comment("ISO 4217"),
		field.Enum("state").Values("OPEN", "CONFIRMED", "REFUSED", "ABANDONED", "REFUNDING", "REFUNDED").Default("OPEN"),
		field.Int64("created_at").Immutable(),
		field.Int64("updated_at"),
	}
}

// Edges of a payment.
func (Payment) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("order", Order.Type).Ref("payments").Field("order_id").Unique().Required().Immutable(),
	}
}

// Indexes of a payment. An order has at most one open payment.
func (Payment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("order_id", "attempt").Unique(),
		index.Fields("order_id").Unique().StorageKey("payment_open").Annotations(entsql.IndexWhere("state = 'OPEN'")),
		index.Fields("updated_at").StorageKey("payment_refunding").Annotations(entsql.IndexWhere("state = 'REFUNDING'")),
	}
}
