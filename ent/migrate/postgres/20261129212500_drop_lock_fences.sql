-- +goose Up
-- drop "lock_fences" table: locks have no fencing tokens any more
DROP TABLE "lock_fences";
-- delete the record of the job that cleaned it
DELETE FROM "settings" WHERE "name" = 'lock.fences';

-- +goose Down
-- create "lock_fences" table
CREATE TABLE "lock_fences" ("name" character varying NOT NULL, "token" bigint NOT NULL, "registered_at" bigint NOT NULL, PRIMARY KEY ("name"));
-- create index "lockfence_registered_at" to table: "lock_fences"
CREATE INDEX "lockfence_registered_at" ON "lock_fences" ("registered_at");
