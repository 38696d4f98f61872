package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// Balance is the money that a user may spend: the sum of the user's entries in [BalanceEntry]. A
// missing row means 0.
type Balance struct{ ent.Schema }

// Annotations of a balance. The database rejects a negative amount.
func (Balance) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("balances"),
		entsql.Checks(map[string]string{"balance_not_negative": "amount >= 0"}),
	}
}

// Fields of a balance.
func (Balance) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("id of the user"),
		field.Int64("amount").Default(0).Comment("minor units"),
	}
}
