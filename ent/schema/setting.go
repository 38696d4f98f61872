package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// Setting is something that all processes share: what is fixed at the first start, for
// good, because what is stored would not be found under another value; and when scheduled
// work was last run.
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
