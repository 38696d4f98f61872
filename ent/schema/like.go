package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Like is that a user likes a note or a comment. Of one target the ids grow in the
// order of commits: they say who liked it first.
type Like struct{ ent.Schema }

// Annotations of a like.
func (Like) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("likes")}
}

// Fields of a like.
func (Like) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Enum("kind").Values("NOTE", "COMMENT").Immutable().Comment("of the target"),
		field.Int64("target_id").Immutable(),
		field.Int64("user_id").Immutable(),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}

// Indexes of a like. The first is what holds one like per user, whatever Redis says; the
// others list a target's likers, the first ones first, and what a user likes, the newest
// targets first.
func (Like) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("kind", "target_id", "user_id").Unique().StorageKey("like_once"),
		index.Fields("kind", "target_id", "id"),
		index.Fields("kind", "user_id", "target_id").Annotations(entsql.DescColumns("target_id")),
	}
}
