package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// NoteCount holds the counters of a [Note], with the same id. It is a separate table because it
// changes with every like. Likes, comments and the deletion of a note lock the row.
type NoteCount struct{ ent.Schema }

// Annotations of the counters.
func (NoteCount) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("note_counts"),
		entsql.Checks(map[string]string{"note_counts_not_negative": "likes >= 0 AND comments >= 0"}),
	}
}

// Fields of the counters.
func (NoteCount) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("id of the note"),
		field.Int("likes").Default(0),
		field.Int("comments").Default(0).Comment("including replies"),
		field.Int("saves").Default(0).NonNegative().Comment("users who saved it"),
		field.Int64("hot").Comment("rank among hot notes, milliseconds: see internal/note/hot.go"),
		field.Int64("version").Default(1).Comment("raised by every update; orders cache writes"),
		field.Bool("deleted").Default(false).Comment("the note is deleted: nothing is counted any more"),
	}
}

// Indexes of the counters: hottest first.
func (NoteCount) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("hot", "id").Annotations(entsql.DescColumns("hot", "id"), entsql.IndexWhere("deleted = false")),
	}
}
