package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Rating is a user's rating of a shop. A second rating replaces the first one. The counters of the
// ratings are in [Shop].
type Rating struct{ ent.Schema }

// Annotations of a rating.
func (Rating) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Checks(map[string]string{
		"ratings_in_range": "stars BETWEEN 1 AND 5 AND taste BETWEEN 1 AND 5 AND environment BETWEEN 1 AND 5 AND service BETWEEN 1 AND 5",
	})}
}

// Fields of a rating.
func (Rating) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("shop_id").Immutable(),
		field.Int64("user_id").Immutable(),
		field.Int("stars").Positive().Comment("1 to 5"),
		field.Int("taste").Optional().Nillable(),
		field.Int("environment").Optional().Nillable(),
		field.Int("service").Optional().Nillable(),
		field.Int64("created_at").Immutable().Comment("milliseconds since 1970"),
		field.Int64("updated_at").Comment("milliseconds since 1970"),
	}
}

// Indexes of a rating. The first one prevents duplicates, regardless of Redis. The second one finds
// recent ratings of a shop.
func (Rating) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("shop_id", "user_id").Unique().StorageKey("rating_once"),
		index.Fields("shop_id", "updated_at"),
		index.Fields("user_id", "id"),
	}
}
