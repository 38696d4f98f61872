package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FeedStar marks a celebrity: an author with notes that were not pushed, because of too many
// followers. Feed reads merge these notes. Rows are never deleted, because the notes stay unpushed.
type FeedStar struct{ ent.Schema }

// Annotations of a celebrity.
func (FeedStar) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("feed_stars")}
}

// Fields of a celebrity.
func (FeedStar) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("id of the author"),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}
