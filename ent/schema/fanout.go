package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FanOut is the progress of pushing a note to the followers of its author. It only exists while a
// fan-out of several batches is under way. The outbox has its job.
type FanOut struct{ ent.Schema }

// Annotations of a fan-out.
func (FanOut) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("fan_outs")}
}

// Fields of a fan-out.
func (FanOut) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the note's"),
		field.Int64("below").Comment("id of a follow: followers with lower ids are left, newest first"),
		field.Int("pushed").Comment("followers pushed to so far"),
	}
}
