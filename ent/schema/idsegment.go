package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// IDSegment is the lease state of a sequence of numbers. Only internal/kit/sequence reads and
// writes it, with its own statements.
type IDSegment struct{ ent.Schema }

// Annotations of a segment.
func (IDSegment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("id_segments")}
}

// Fields of a segment.
func (IDSegment) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable().NotEmpty().MaxLen(64).Comment("name of the sequence"),
		field.Int64("next").Comment("first number that is not leased"),
		field.Int64("second").Comment("upper bound of the seconds, since 1970, of numbers leased so far"),
		field.Int64("secret").Immutable().Comment("key of the permutation"),
	}
}
