package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// LockFence is the newest holder of a lock that registered in a transaction. Only
// internal/kit/lock reads and writes these rows, by statements of its own.
type LockFence struct{ ent.Schema }

// Annotations of a fence.
func (LockFence) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("lock_fences")}
}

// Fields of a fence.
func (LockFence) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable().NotEmpty().MaxLen(200).Comment("of the lock"),
		field.Int64("token").Comment("of the holder; never less than before"),
		field.Int64("registered_at").Comment("milliseconds since 1970; deleted some time after"),
	}
}

// Indexes of a fence: those that are deleted some day.
func (LockFence) Indexes() []ent.Index {
	return []ent.Index{index.Fields("registered_at")}
}
