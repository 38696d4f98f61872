package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// User is a person with an account.
type User struct{ ent.Schema }

// Fields of a user. A synthetic user has an external id and no phone.
func (User) Fields() []ent.Field {
	return append([]ent.Field{
		field.Int64("id"),
		field.String("phone").Optional().Nillable().Unique().MaxLen(16).Sensitive().Comment("E.164, with the plus sign"),
		field.String("external_id").Optional().Nillable().Unique().Immutable().MaxLen(200).Comment("name in the seed"),
		field.String("password_hash").Optional().Nillable().MaxLen(200).Sensitive().Comment("argon2id, in PHC form"),
		field.String("nickname").NotEmpty().MaxLen(120),
		field.String("avatar_url").Optional().Nillable().MaxLen(200),
		field.Enum("role").Values("CUSTOMER", "MERCHANT", "ADMIN").Default("CUSTOMER"),
		field.String("city").Optional().Nillable().MaxLen(160),
		field.String("bio").Optional().Nillable().MaxLen(800),
		field.Enum("gender").Values("UNSPECIFIED", "MALE", "FEMALE").Default("UNSPECIFIED"),
		field.Int("points").Default(0).Comment("earned by check-ins and paid orders"),
		field.Int("follower_count").Default(0),
		field.Int("followee_count").Default(0),
		field.Int("note_count").Default(0).Comment("notes that are not deleted"),
		field.Int64("follow_version").Default(0).Comment("raised by every follow and unfollow of the user"),
		field.Int64("version").Default(1).Comment("raised by every update of public fields; orders cache writes"),
		field.String("birthday").Optional().Nillable().MaxLen(10).Comment("yyyy-mm-dd"),
	}, createdAndUpdated()...)
}

// Edges of a user.
func (User) Edges() []ent.Edge {
	return []ent.Edge{edge.To("sessions", Session.Type), edge.To("devices", Device.Type), edge.To("shops", Shop.Type)}
}
