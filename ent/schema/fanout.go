package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FanOut is how far a note is pushed to the followers of its author. There is one only
// while a fan-out of several batches is under way: its job is in the outbox.
type FanOut struct{ ent.Schema }

// Annotations of a fan-out.
func (FanOut) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("fan_outs")}
}

// Fields of a fan-out.
func (FanOut) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the note's"),
		field.Int64("below").Comment("id of a follow: followers with lower ones are to come, the newest first"),
		field.Int("pushed").Comment("followers that were done"),
	}
}
