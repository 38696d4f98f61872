-- +goose Up
-- create index "follow_since_seq" to table: "follows"
CREATE INDEX "follow_since_seq" ON "follows" ("since_seq");

-- +goose Down
-- reverse: create index "follow_since_seq" to table: "follows"
DROP INDEX "follow_since_seq";
