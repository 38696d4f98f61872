-- +goose Up
-- create "outbox_jobs" table
CREATE TABLE `outbox_jobs` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `topic` text NOT NULL, `payload` text NOT NULL, `tries` integer NOT NULL DEFAULT (0), `failures` integer NOT NULL DEFAULT (0), `last_error` text NULL, `created_at` integer NOT NULL, `due_at` integer NOT NULL, `done_at` integer NULL, `parked_at` integer NULL, `keep_until` integer NULL);
-- create index "outboxjob_due_at_id" to table: "outbox_jobs"
CREATE INDEX `outboxjob_due_at_id` ON `outbox_jobs` (`due_at`, `id`) WHERE done_at IS NULL AND parked_at IS NULL;
-- create index "outboxjob_keep_until" to table: "outbox_jobs"
CREATE INDEX `outboxjob_keep_until` ON `outbox_jobs` (`keep_until`) WHERE keep_until IS NOT NULL;
-- create index "outboxjob_topic" to table: "outbox_jobs"
CREATE INDEX `outboxjob_topic` ON `outbox_jobs` (`topic`) WHERE parked_at IS NOT NULL;

-- +goose Down
-- reverse: create index "outboxjob_topic" to table: "outbox_jobs"
DROP INDEX `outboxjob_topic`;
-- reverse: create index "outboxjob_keep_until" to table: "outbox_jobs"
DROP INDEX `outboxjob_keep_until`;
-- reverse: create index "outboxjob_due_at_id" to table: "outbox_jobs"
DROP INDEX `outboxjob_due_at_id`;
-- reverse: create "outbox_jobs" table
DROP TABLE `outbox_jobs`;
