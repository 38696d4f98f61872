package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// NoteEvent is one entry of the feed log: a note that was published or deleted. Rows are
// append-only. Numbers have no holes, and a transaction that sees one sees all below it.
type NoteEvent struct{ ent.Schema }

// Annotations of an event.
func (NoteEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("note_events")}
}

// Fields of an event.
func (NoteEvent) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").StorageKey("seq").Immutable().Comment("taken from feed_head: dense, in commit order"),
		field.Enum("kind").Values("ADDED", "REMOVED").Immutable(),
		field.Int64("note_id").Immutable(),
		field.Int64("author_id").Immutable(),
	}
}
