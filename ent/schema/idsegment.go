package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// IDSegment is how far a sequence of numbers was leased. Only
// internal/kit/sequence reads and writes these rows, by statements of its own.
type IDSegment struct{ ent.Schema }

// Annotations of a segment.
func (IDSegment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("id_segments")}
}

// Fields of a segment.
func (IDSegment) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable().NotEmpty().MaxLen(64).Comment("of the sequence"),
		field.Int64("next").Comment("the first number that nobody has leased"),
		field.Int64("second").Comment("no number of an earlier lease has a later second, since 1970"),
		field.Int64("secret").Immutable().Comment("key of the permutation"),
	}
}
