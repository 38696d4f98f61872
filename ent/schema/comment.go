package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Comment is a user's comment on a note, or a reply to another comment on it. Times are
// milliseconds since 1970.
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
		field.Int64("root_id").Optional().Nillable().Immutable().Comment("the top-level comment of this reply; null for a top-level comment"),
		field.Int64("parent_id").Optional().Nillable().Immutable().Comment("the answered comment: the root, or another reply"),
		field.Text("content").Comment("cleared some time after the note is deleted"),
		field.Int("like_count").Default(0),
		field.Int("reply_count").Default(0).Comment("replies below it; 0 for a reply"),
		field.Int64("version").Default(1).Comment("raised by every update; orders cache writes"),
		field.Int64("created_at").Immutable(),
	}
}

// Indexes of a comment: the top-level comments on a note, and the replies below a comment.
func (Comment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("note_id", "id").Annotations(entsql.DescColumns("id"), entsql.IndexWhere("root_id IS NULL")),
		index.Fields("root_id", "id").Annotations(entsql.IndexWhere("root_id IS NOT NULL")),
	}
}
