-- +goose Up
-- modify "feed_head" table
ALTER TABLE "feed_head" ADD COLUMN "follows" bigint NOT NULL DEFAULT 0;

-- +goose Down
-- reverse: modify "feed_head" table
ALTER TABLE "feed_head" DROP COLUMN "follows";
