package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Note is a user's text about a shop. It changes only when one of its pictures is deleted, when it
// is deleted itself, and when its texts are cleared some time later. Times are milliseconds since
// 1970. Its counters are in [NoteCount].
type Note struct{ ent.Schema }

// Fields of a note.
func (Note) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("external_id").Optional().Nillable().Unique().Immutable().MaxLen(200).Comment("name in the seed"),
		field.Int64("author_id").Immutable(),
		field.Int64("shop_id").Immutable(),
		field.String("title").MaxLen(400).Comment("empty once cleared"),
		field.Text("content").Comment("empty once cleared"),
		images(),
		field.Int64("seq").Optional().Nillable().Unique().Comment("feed log number of its publication; null only until its transaction ends"),
		field.Int64("created_at").Immutable(),
		field.Int64("deleted_at").Optional().Nillable(),
		field.Int64("cleared_at").Optional().Nillable().Comment("when its texts and those of its comments were cleared, some time after deletion"),
	}
}

// Indexes of a note: the lists of an author and of a shop, newest first, and the deleted
// notes that still have their texts.
func (Note) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("author_id", "seq").Annotations(entsql.DescColumns("seq"), entsql.IndexWhere("deleted_at IS NULL")),
		index.Fields("shop_id", "seq").Annotations(entsql.DescColumns("seq"), entsql.IndexWhere("deleted_at IS NULL")),
		index.Fields("deleted_at").StorageKey("note_uncleared").Annotations(entsql.IndexWhere("deleted_at IS NOT NULL AND cleared_at IS NULL")),
	}
}
