package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// NoteCount is what others count of a [Note], whose id it has: apart from it, because
// it changes with every like, and the text never. Who likes a note, comments on it or
// deletes it locks this row.
type NoteCount struct{ ent.Schema }

// Annotations of the counts.
func (NoteCount) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("note_counts"),
		entsql.Checks(map[string]string{"note_counts_not_negative": "likes >= 0 AND comments >= 0"}),
	}
}

// Fields of the counts.
func (NoteCount) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the note's"),
		field.Int("likes").Default(0),
		field.Int("comments").Default(0).Comment("replies too"),
		field.Int64("hot").Comment("its rank among hot notes, milliseconds: see internal/note/hot.go"),
		field.Int64("version").Default(1).Comment("raised by every update; orders what is put into the cache"),
		field.Bool("deleted").Default(false).Comment("the note is: nothing is counted any more"),
	}
}

// Indexes of the counts: the hottest first.
func (NoteCount) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("hot", "id").Annotations(entsql.DescColumns("hot", "id"), entsql.IndexWhere("deleted = false")),
	}
}
