-- +goose Up
-- modify "notes" table
ALTER TABLE "notes" ADD COLUMN "cleared_at" bigint NULL;
-- create index "note_uncleared" to table: "notes"
CREATE INDEX "note_uncleared" ON "notes" ("deleted_at") WHERE ((deleted_at IS NOT NULL) AND (cleared_at IS NULL));

-- +goose Down
-- reverse: create index "note_uncleared" to table: "notes"
DROP INDEX "note_uncleared";
-- reverse: modify "notes" table
ALTER TABLE "notes" DROP COLUMN "cleared_at";
