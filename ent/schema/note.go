package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Note is what somebody wrote about a shop. It never changes but for its end. Its times
// are numbers, milliseconds since 1970. What others count of it is a [NoteCount].
type Note struct{ ent.Schema }

// Fields of a note.
func (Note) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("external_id").Optional().Nillable().Unique().Immutable().MaxLen(200).Comment("name in the seed it was made by"),
		field.Int64("author_id").Immutable(),
		field.Int64("shop_id").Immutable(),
		field.String("title").NotEmpty().MaxLen(400).Immutable(),
		field.Text("content").Immutable(),
		field.JSON("images", []Image{}).Default([]Image{}).Immutable(),
		field.Int64("seq").Optional().Nillable().Unique().Comment("its place among all that was published or deleted; null only until its transaction ends"),
		field.Int64("created_at").Immutable(),
		field.Int64("deleted_at").Optional().Nillable(),
	}
}

// Indexes of a note: the lists of an author and of a shop, newest first.
func (Note) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("author_id", "seq").Annotations(entsql.DescColumns("seq"), entsql.IndexWhere("deleted_at IS NULL")),
		index.Fields("shop_id", "seq").Annotations(entsql.DescColumns("seq"), entsql.IndexWhere("deleted_at IS NULL")),
	}
}
