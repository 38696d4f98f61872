package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Comment is what somebody wrote about a note, or in reply to another comment on it. Its
// times are numbers, milliseconds since 1970.
type Comment struct{ ent.Schema }

// Annotations of a comment.
func (Comment) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Checks(map[string]string{"comments_not_negative": "like_count >= 0 AND reply_count >= 0"}),
	}
}

// Fields of a comment.
func (Comment) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("note_id").Immutable(),
		field.Int64("author_id").Immutable(),
		field.Int64("root_id").Optional().Nillable().Immutable().Comment("the comment on the note below which this reply stands; null of one that is no reply"),
		field.Int64("parent_id").Optional().Nillable().Immutable().Comment("the comment that it answers: the root, or another reply"),
		field.Text("content").Comment("empty once it was cleared, some time after its note was deleted"),
		field.Int("like_count").Default(0),
		field.Int("reply_count").Default(0).Comment("replies below it; 0 of a reply"),
		field.Int64("version").Default(1).Comment("raised by every update; orders what is put into the cache"),
		field.Int64("created_at").Immutable(),
	}
}

// Indexes of a comment: those on a note, and the replies below one.
func (Comment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("note_id", "id").Annotations(entsql.DescColumns("id"), entsql.IndexWhere("root_id IS NULL")),
		index.Fields("root_id", "id").Annotations(entsql.IndexWhere("root_id IS NOT NULL")),
	}
}
