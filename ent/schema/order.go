package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Order is one piece of a voucher that a user ordered. Its times are numbers,
// milliseconds since 1970: they are the score of the order list, and are compared
// by the same operators in both dialects.
type Order struct{ ent.Schema }

// LiveOrder is which orders hold their piece, as SQL. Without IN: Postgres writes
// that in another way each time, and the migrations would never look complete.
const LiveOrder = "status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'"

// UntalliedOrder is which orders are yet to be counted into what their shop sold, or
// out of it, as SQL: see [LiveOrder].
const UntalliedOrder = "(tallied = false AND (status = 'PAID' OR status = 'USED' OR status = 'REFUNDING')) OR (tallied = true AND status = 'REFUNDED')"

// Annotations of an order.
func (Order) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("orders")}
}

// Fields of an order. A FAILED one is a tombstone: the number was given out, and
// no order will ever have it.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the number that people read, of kit/sequence: not the database's"),
		field.Int64("user_id").Immutable(),
		field.Int64("voucher_id").Immutable(),
		field.Int64("shop_id").Immutable().Comment("the voucher's"),
		field.Enum("status").Values("UNPAID", "PAID", "USED", "CANCELLED", "REFUNDING", "REFUNDED", "FAILED"),
		field.Bool("one_per_user").Immutable().Comment("the voucher's: a live one excludes another"),
		field.Bool("flash").Immutable().Comment("of a flash sale: its piece goes back when it ends"),
		field.Int("pay_value").Immutable().Comment("minor units"),
		field.Int64("terms_id").Optional().Nillable().Immutable().Comment("the terms_id of its voucher at the insert; null: the first terms"),
		field.Enum("pay_method").Values("BALANCE", "ALIPAY", "WECHAT").Optional().Nillable(),
		field.String("failure").Optional().Nillable().MaxLen(40).Comment("code of the reason, of a FAILED one"),
		field.String("idempotency").Optional().Nillable().MaxLen(43).Comment("digest of user, voucher and the client's key; cleared after a day"),
		field.Int64("version").Default(1).Comment("raised by every change; orders what is put into the cache"),
		field.Bool("tallied").Default(false).Comment("counted into what its shop sold, and its user's points"),
		field.Int64("created_at").Immutable(),
		field.Int64("pay_before").Comment("cancelled then if it is still unpaid"),
		field.Int64("paid_at").Optional().Nillable(),
		field.Int64("used_at").Optional().Nillable(),
		field.Int64("redeemed_by").Optional().Nillable().Comment("user that redeemed it"),
		field.Int64("redemption_disputed_at").Optional().Nillable().Comment("when its buyer disputed the redemption"),
		field.Int64("cancelled_at").Optional().Nillable(),
		field.Int64("refunded_at").Optional().Nillable(),
	}
}

// Edges of an order.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.To("payments", Payment.Type)}
}

// Indexes of an order. The first is what holds one order per user, whatever Redis
// says; its columns in this order list a voucher's live orders too.
func (Order) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("voucher_id", "user_id").Unique().StorageKey("order_live").
			Annotations(entsql.IndexWhere("one_per_user AND " + LiveOrder)),
		index.Fields("idempotency").Unique().StorageKey("order_idempotency").
			Annotations(entsql.IndexWhere("idempotency IS NOT NULL")),
		index.Fields("user_id", "created_at", "id").Annotations(entsql.DescColumns("created_at", "id")),
		index.Fields("shop_id", "created_at", "id").Annotations(entsql.DescColumns("created_at", "id")),
		index.Fields("created_at", "id"),
		index.Fields("shop_id", "paid_at").Annotations(entsql.IndexWhere("paid_at IS NOT NULL")),
		index.Fields("paid_at").Annotations(entsql.IndexWhere("paid_at IS NOT NULL")),
		index.Fields("pay_before", "id").Annotations(entsql.IndexWhere("status = 'UNPAID'")),
		index.Fields("created_at", "id").StorageKey("order_disputed").Annotations(entsql.IndexWhere("redemption_disputed_at IS NOT NULL")),
		index.Fields("id").StorageKey("order_refunding").Annotations(entsql.IndexWhere("status = 'REFUNDING'")),
		index.Fields("id").StorageKey("order_untallied").Annotations(entsql.IndexWhere(UntalliedOrder)),
	}
}
