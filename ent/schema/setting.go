package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// Setting is a value that all processes share. It is fixed at the first start, because stored data
// depends on it, or it is the last run of a scheduled job.
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
