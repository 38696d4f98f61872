package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FanOut is the progress of pushing a note to the followers of its author. A row exists only during
// a fan-out of several batches. Its job is in the outbox.
type FanOut struct{ ent.Schema }

// Annotations of a fan-out.
func (FanOut) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("fan_outs")}
}

// Fields of a fan-out.
func (FanOut) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("id of the note"),
		field.Int64("below").Comment("id of a follow: follows with lower ids remain, newest first"),
		field.Int("pushed").Comment("followers pushed to so far"),
	}
}
