package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Picture is an uploaded or drawn image, as it is served. Once stored is set, its files are in the
// blob store. Their names contain the hash and the id. If a deleted picture is uploaded again, the
// new id gives it other names, so a late deletion of the old files cannot affect it.
type Picture struct{ ent.Schema }

// Fields of a picture. Times are milliseconds since 1970.
func (Picture) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("hash").Unique().Immutable().MaxLen(64).Comment("hexadecimal hash of the screen-size file; for uploads an HMAC with the uploader"),
		field.Enum("format").Values("JPEG", "PNG").Immutable(),
		field.Int("width").Immutable().Comment("pixels of the screen size"),
		field.Int("height").Immutable(),
		field.Int("bytes").Immutable().Comment("of both sizes"),
		field.Int64("uploader_id").Optional().Nillable().Immutable().Comment("the only user that may show it; null for pictures of the program"),
		field.Bool("stored").Default(false).Comment("both files are in the blob store"),
		field.Int64("created_at").Immutable(),
		field.Int64("touched_at").Comment("last upload; unused pictures are deleted a day later"),
	}
}

// Indexes of a picture: pictures to delete, and the recent uploads of a user.
func (Picture) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("touched_at", "id"),
		index.Fields("uploader_id", "created_at"),
	}
}
