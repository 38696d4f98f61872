package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// OutboxJob is something to be done because of a transaction that committed.
// Only internal/kit/outbox reads and writes these rows, by statements of its own.
// Its times are numbers, milliseconds since 1970 by the database's clock: they
// are compared and added to in both dialects by the same operators, which text
// times of SQLite are not fit for.
type OutboxJob struct{ ent.Schema }

// Annotations of a job.
func (OutboxJob) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("outbox_jobs")}
}

// Fields of a job. It is done, parked, or waits.
func (OutboxJob) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("topic").Immutable().NotEmpty().MaxLen(64).Comment("which handler does it"),
		field.Text("payload").Immutable().Comment("JSON, at most 16 KB"),
		field.Int("tries").Default(0).Comment("claims so far; names the attempt that may settle it"),
		field.Int("failures").Default(0).Comment("failed attempts that were the job's own fault, since it was last parked"),
		field.String("last_error").Optional().Nillable().MaxLen(500),
		field.Int64("created_at").Immutable(),
		field.Int64("due_at").Comment("nobody claims it before"),
		field.Int64("done_at").Optional().Nillable().Comment("kept to be repeated"),
		field.Int64("parked_at").Optional().Nillable().Comment("failed too often; not tried again by itself"),
		field.Int64("keep_until").Optional().Nillable().Comment("deleted then; null while it waits"),
	}
}

// Indexes of a job: those that wait, those that are deleted some day, those that
// are parked. A row is in the first or in the others.
func (OutboxJob) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("due_at", "id").Annotations(entsql.IndexWhere("done_at IS NULL AND parked_at IS NULL")),
		index.Fields("keep_until").Annotations(entsql.IndexWhere("keep_until IS NOT NULL")),
		index.Fields("topic").Annotations(entsql.IndexWhere("parked_at IS NOT NULL")),
	}
}
