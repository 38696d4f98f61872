package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Save is a shop or a note that a user saved.
type Save struct{ ent.Schema }

// Fields of a save.
func (Save) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Enum("kind").Values("SHOP", "NOTE").Immutable().Comment("kind of the target"),
		field.Int64("target_id").Immutable(),
		field.Int64("user_id").Immutable(),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}

// Indexes of a save. The first one prevents duplicates, regardless of Redis. The second one lists
// the saves of a user, newest first. The third one finds recent saves of a target.
func (Save) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("kind", "target_id", "user_id").Unique().StorageKey("save_once"),
		index.Fields("kind", "user_id", "id").Annotations(entsql.DescColumns("id")),
		index.Fields("kind", "target_id", "created_at"),
	}
}
