package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// Setting is something that is fixed at the first start, for all processes and
// for good: what is stored would not be found under another value.
type Setting struct{ ent.Schema }

// Annotations of a setting.
func (Setting) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("settings")}
}

// Fields of a setting.
func (Setting) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable().NotEmpty().MaxLen(64),
		field.String("value").MaxLen(200),
	}
}
