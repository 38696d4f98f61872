-- +goose Up
-- add column "follows" to table: "feed_head"
ALTER TABLE `feed_head` ADD COLUMN `follows` integer NOT NULL DEFAULT (0);

-- +goose Down
-- reverse: add column "follows" to table: "feed_head"
ALTER TABLE `feed_head` DROP COLUMN `follows`;
