package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FeedStar is an author, whose id it has, with notes that were not pushed, because too many
// followed: readers merge them. Once a star, always one: those notes stay where they are.
type FeedStar struct{ ent.Schema }

// Annotations of a star.
func (FeedStar) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("feed_stars")}
}

// Fields of a star.
func (FeedStar) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("the author's"),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
	}
}
