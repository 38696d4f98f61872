package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Session is one log-in of a user: what a session in Redis is read back from.
type Session struct{ ent.Schema }

// Fields of a session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable().MaxLen(43).Comment("SHA-256 of the token, base64url: the token itself is nowhere"),
		field.Int64("user_id").Immutable(),
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("expires_at").Comment("moved at most hourly"),
		field.Time("used_at").Optional().Nillable().Comment("moved with expires_at; null for rows of earlier versions"),
		field.String("device").Optional().Nillable().Immutable().MaxLen(80).Comment("browser and system, by the user agent"),
		field.Int64("device_id").Optional().Nillable().Immutable().Comment("row in devices that began it; it may be gone"),
		field.Time("ended_at").Optional().Nillable().Comment("logged out; the row goes when Redis has been told"),
	}
}

// Edges of a session.
func (Session) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("user", User.Type).Ref("sessions").Field("user_id").Unique().Required().Immutable(),
	}
}

// Indexes of a session: those of one user, those that are over, those that ended.
func (Session) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("user_id"),
		index.Fields("expires_at"),
		index.Fields("ended_at").Annotations(entsql.IndexWhere("ended_at IS NOT NULL")),
	}
}
