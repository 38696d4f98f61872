package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Order is a user's order of one voucher. Times are milliseconds since 1970: they are scores of
// the order list, and both dialects compare them with the same operators.
type Order struct{ ent.Schema }

// LiveOrder is the SQL condition for orders that hold a unit. It avoids IN: Postgres rewrites IN, so
// entdiff would always see a difference.
const LiveOrder = "status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'"

// UntalliedOrder is the SQL condition for orders that are not yet added to the sold count of
// their shop, or not yet subtracted. See [LiveOrder].
const UntalliedOrder = "(tallied = false AND (status = 'PAID' OR status = 'USED' OR status = 'REFUNDING')) OR (tallied = true AND status = 'REFUNDED')"

// Annotations of an order.
func (Order) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("orders")}
}

// Fields of an order. A FAILED one is a tombstone: its number was used and is never given to
// another order.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("public order number, from kit/sequence"),
		field.Int64("user_id").Immutable(),
		field.Int64("voucher_id").Immutable(),
		field.Int64("shop_id").Immutable().Comment("shop of the voucher"),
		field.Enum("status").Values("UNPAID", "PAID", "USED", "CANCELLED", "REFUNDING", "REFUNDED", "FAILED"),
		field.Bool("one_per_user").Immutable().Comment("copied from the voucher: at most one live order per user"),
		field.Bool("flash").Immutable().Comment("order of a flash sale: its unit returns to the stock when it ends"),
		field.Int("pay_value").Immutable().Comment("minor units"),
		field.Int64("terms_id").Optional().Nillable().Immutable().Comment("terms_id of the voucher at the insert; null: the first terms"),
		field.Enum("pay_method").Values("BALANCE", "ALIPAY", "WECHAT").Optional().Nillable(),
		field.String("failure").Optional().Nillable().MaxLen(40).Comment("code of the reason, for FAILED"),
		field.String("idempotency").Optional().Nillable().MaxLen(43).Comment("digest of user, voucher and the client's key; cleared after a day"),
		field.Int64("version").Default(1).Comment("raised by every change; orders cache writes"),
		field.Bool("tallied").Default(false).Comment("added to the sold count of the shop and the points of the user"),
		field.Int64("created_at").Immutable(),
		field.Int64("pay_before").Comment("when an unpaid order is cancelled"),
		field.Int64("paid_at").Optional().Nillable(),
		field.Int64("used_at").Optional().Nillable(),
		field.Int64("redeemed_by").Optional().Nillable().Comment("user that redeemed the voucher"),
		field.Int64("redemption_disputed_at").Optional().Nillable().Comment("when the buyer disputed the redemption"),
		field.Int64("cancelled_at").Optional().Nillable(),
		field.Int64("refunded_at").Optional().Nillable(),
	}
}

// Edges of an order.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.To("payments", Payment.Type)}
}

// Indexes of an order. The first one enforces one order per user, regardless of Redis. It also lists
// the live orders of a voucher.
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
