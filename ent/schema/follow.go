package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Follow is a follow of one user by another. The ids of one follower, and those of one followee,
// grow in commit order.
type Follow struct{ ent.Schema }

// Annotations of a follow.
func (Follow) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Table("follows"),
		entsql.Checks(map[string]string{"follows_not_self": "follower_id <> followee_id"}),
	}
}

// Fields of a follow.
func (Follow) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("follower_id").Immutable(),
		field.Int64("followee_id").Immutable(),
		field.Int64("since_seq").Immutable().Comment("feed_head at the commit: only notes with a larger number are new to the follower"),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}

// Indexes of a follow. The first one prevents duplicates, regardless of Redis.
func (Follow) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("follower_id", "followee_id").Unique().StorageKey("follow_once"),
		index.Fields("follower_id", "id").Annotations(entsql.DescColumns("id")),
		index.Fields("followee_id", "id").Annotations(entsql.DescColumns("id")),
		index.Fields("since_seq"), // for live feeds: follows since the last note
	}
}
