package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Device is a browser or app that has signed in to an account. Its signed token only gives it
// separate limits for login codes and passwords.
type Device struct{ ent.Schema }

// Fields of a device.
func (Device) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.Int64("user_id").Immutable(),
		field.Int64("generation").Default(1).Comment("raised at each login; tokens of earlier generations are void"),
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("used_at").Default(Now).Comment("last login"),
	}
}

// Edges of a device.
func (Device) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("user", User.Type).Ref("devices").Field("user_id").Unique().Required().Immutable(),
	}
}

// Indexes of a device: the devices of a user, and the time of their last use.
func (Device) Indexes() []ent.Index {
	return []ent.Index{index.Fields("user_id"), index.Fields("used_at")}
}
