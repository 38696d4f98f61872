package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Picture is an image that was uploaded or drawn here, as it is served. Its files lie in
// the blob store, under names made of hash and id: who finds the row and stored set finds
// the files. The id is in the name because a picture that was collected may be uploaded
// again: then it has another name, and nobody deletes it who meant the first one.
type Picture struct{ ent.Schema }

// Fields of a picture. Times are milliseconds since 1970.
func (Picture) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("hash").Unique().Immutable().MaxLen(64).Comment("of the file of the screen size, in hexadecimal; of an upload under a secret, with the uploader"),
		field.Enum("format").Values("JPEG", "PNG").Immutable(),
		field.Int("width").Immutable().Comment("pixels of the screen size"),
		field.Int("height").Immutable(),
		field.Int("bytes").Immutable().Comment("of both sizes"),
		field.Int64("uploader_id").Optional().Nillable().Immutable().Comment("the one user that may show it; null for one that the program drew"),
		field.Bool("stored").Default(false).Comment("both files are in the blob store"),
		field.Int64("created_at").Immutable(),
		field.Int64("touched_at").Comment("the last upload of it: what nobody uses is collected a day later"),
	}
}

// Indexes of a picture: what may be collected, and what somebody uploaded of late.
func (Picture) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("touched_at", "id"),
		index.Fields("uploader_id", "created_at"),
	}
}
