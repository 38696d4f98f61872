package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Like is a user's like of a note or a comment. The ids of one target grow in commit order, so its
// first likers have the lowest ids.
type Like struct{ ent.Schema }

// Annotations of a like.
func (Like) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("likes")}
}

// Fields of a like.
func (Like) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Enum("kind").Values("NOTE", "COMMENT").Immutable().Comment("kind of the target"),
		field.Int64("target_id").Immutable(),
		field.Int64("user_id").Immutable(),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}

// Indexes of a like. The first one prevents duplicates, regardless of Redis. The others list
// the likers of a target, oldest first, and the likes of a user, newest targets first.
func (Like) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("kind", "target_id", "user_id").Unique().StorageKey("like_once"),
		index.Fields("kind", "target_id", "id"),
		index.Fields("kind", "user_id", "target_id").Annotations(entsql.DescColumns("target_id")),
	}
}
