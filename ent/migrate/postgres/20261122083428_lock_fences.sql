-- +goose Up
-- create "lock_fences" table
CREATE TABLE "lock_fences" ("name" character varying NOT NULL, "token" bigint NOT NULL, "registered_at" bigint NOT NULL, PRIMARY KEY ("name"));
-- create index "lockfence_registered_at" to table: "lock_fences"
CREATE INDEX "lockfence_registered_at" ON "lock_fences" ("registered_at");

-- +goose Down
-- reverse: create index "lockfence_registered_at" to table: "lock_fences"
DROP INDEX "lockfence_registered_at";
-- reverse: create "lock_fences" table
DROP TABLE "lock_fences";
