package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// OutboxJob is a task that a committed transaction requires. Only internal/kit/outbox reads and
// writes it, with its own statements. Times are milliseconds since 1970 by the database's clock.
// Both dialects compare and add them with the same operators, which do not work with SQLite's
// text times.
type OutboxJob struct{ ent.Schema }

// Annotations of a job.
func (OutboxJob) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Table("outbox_jobs")}
}

// Fields of a job. It is waiting, done or parked.
func (OutboxJob) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("topic").Immutable().NotEmpty().MaxLen(64).Comment("name of the handler"),
		field.Text("payload").Immutable().Comment("JSON, at most 16 KB"),
		field.Int("tries").Default(0).Comment("claims so far; identifies the attempt that may finish it"),
		field.Int("failures").Default(0).Comment("failures caused by the job itself, since it was last parked"),
		field.String("last_error").Optional().Nillable().MaxLen(500),
		field.Int64("created_at").Immutable(),
		field.Int64("due_at").Comment("earliest time of the next claim"),
		field.Int64("done_at").Optional().Nillable().Comment("retained for replays"),
		field.Int64("parked_at").Optional().Nillable().Comment("failed too often; not retried automatically"),
		field.Int64("keep_until").Optional().Nillable().Comment("time of deletion; null while waiting"),
	}
}

// Indexes of a job: waiting jobs, jobs to delete, and parked jobs. A waiting job is not in the
// others.
func (OutboxJob) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("due_at", "id").Annotations(entsql.IndexWhere("done_at IS NULL AND parked_at IS NULL")),
		index.Fields("keep_until").Annotations(entsql.IndexWhere("keep_until IS NOT NULL")),
		index.Fields("topic").Annotations(entsql.IndexWhere("parked_at IS NOT NULL")),
	}
}
