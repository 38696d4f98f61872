package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// BalanceEntry is one change of a [Balance]. The ledger is append-only: every field
// is immutable, and no code deletes a row.
type BalanceEntry struct{ ent.Schema }

// Annotations of an entry.
func (BalanceEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("balance_entries")}
}

// Fields of an entry.
func (BalanceEntry) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("user_id").Immutable(),
		field.Int64("amount").Immutable().Comment("minor units; negative for debits"),
		field.Enum("kind").Values("ADJUSTMENT", "PAYMENT", "REFUND").Immutable(),
		field.Int64("payment_id").Optional().Nillable().Immutable().Comment("set for PAYMENT and REFUND"),
		field.Int64("actor_id").Optional().Nillable().Immutable().Comment("administrator of an ADJUSTMENT; null: the server"),
		field.String("reason").Default("").MaxLen(800).Immutable().Comment("of an ADJUSTMENT; at most 200 characters"),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}

// Indexes of an entry: the entries of a user, and at most one payment and one refund per payment
// attempt.
func (BalanceEntry) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("user_id", "id"),
		index.Fields("payment_id", "kind").Unique().StorageKey("balance_entry_once").
			Annotations(entsql.IndexWhere("payment_id IS NOT NULL")),
	}
}
