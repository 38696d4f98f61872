package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Session is one login of a user. A session in Redis is restored from it.
type Session struct{ ent.Schema }

// Fields of a session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable().MaxLen(43).Comment("SHA-256 of the token, base64url; the token itself is not stored"),
		field.Int64("user_id").Immutable(),
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("expires_at").Comment("extended at most hourly"),
		field.Time("used_at").Optional().Nillable().Comment("updated with expires_at; null for rows of earlier versions"),
		field.String("device").Optional().Nillable().Immutable().MaxLen(80).Comment("browser and system, from the user agent"),
		field.Int64("device_id").Optional().Nillable().Immutable().Comment("row in devices of the login; may be deleted"),
		field.Time("ended_at").Optional().Nillable().Comment("time of logout; the row is deleted after the session in Redis"),
	}
}

// Edges of a session.
func (Session) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("user", User.Type).Ref("sessions").Field("user_id").Unique().Required().Immutable(),
	}
}

// Indexes of a session: the sessions of a user, expired ones, and ended ones.
func (Session) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("user_id"),
		index.Fields("expires_at"),
		index.Fields("ended_at").Annotations(entsql.IndexWhere("ended_at IS NOT NULL")),
	}
}
