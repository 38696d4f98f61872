package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PictureUse records that an owner, such as a note, shows a [Picture]. The transaction that adds the
// picture to the owner inserts the row, so that used pictures are never deleted.
type PictureUse struct{ ent.Schema }

// Annotations of a use.
func (PictureUse) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("picture_uses")}
}

// Fields of a use.
func (PictureUse) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("picture_id").Immutable(),
		field.Enum("kind").Values("SHOP", "SHOP_TYPE", "NOTE", "USER").Immutable().Comment("kind of the owner"),
		field.Int64("owner_id").Immutable(),
	}
}

// Indexes of a use: the uses of an owner, and those of a picture.
func (PictureUse) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("kind", "owner_id", "picture_id").Unique().StorageKey("picture_use_once"),
		index.Fields("picture_id"),
	}
}
