package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// ShopType is one category of shops. Every start writes the catalogue.
type ShopType struct{ ent.Schema }

// Fields of a shop type.
func (ShopType) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("key").Unique().Immutable().MaxLen(40).Comment("stable name that imports refer to"),
		field.String("name").NotEmpty().MaxLen(80),
		field.String("icon_url").Optional().Nillable(),
		field.Int("sort").Comment("ascending order of the list"),
	}
}

// Edges of a shop type.
func (ShopType) Edges() []ent.Edge {
	return []ent.Edge{edge.To("shops", Shop.Type)}
}
