package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// FeedHead is one row with id 1: the number of the newest [NoteEvent]. A transaction that takes the
// next number locks the row until its commit, so numbers are dense and in commit order.
type FeedHead struct{ ent.Schema }

// Annotations of the head.
func (FeedHead) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("feed_head")}
}

// Fields of the head.
func (FeedHead) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Comment("1"),
		field.Int64("seq").Default(0),
		field.Int64("follows").Default(0).Comment("transactions so far that inserted follows"),
	}
}
