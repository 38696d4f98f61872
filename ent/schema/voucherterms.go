package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// VoucherTerms is one version of the texts and the value of a voucher. Rows are immutable.
//
// A voucher has no rows until the first edit of its texts, which inserts the previous and the new
// texts. Later edits insert the new ones. An order copies the terms_id of its voucher at the insert,
// so null means the texts before the first edit.
type VoucherTerms struct{ ent.Schema }

// Annotations of a version.
func (VoucherTerms) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("voucher_terms")}
}

// Fields of a version, with the limits of [Voucher].
func (VoucherTerms) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("title").Immutable().NotEmpty().MaxLen(480),
		field.String("sub_title").Immutable().Optional().Nillable().MaxLen(800),
		field.Text("rules").Immutable().Optional().Nillable(),
		field.Int("face_value").Immutable().NonNegative().Comment("minor units"),
	}
}
