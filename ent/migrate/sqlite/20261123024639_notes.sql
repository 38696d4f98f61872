-- +goose Up
-- modify "users" table
ALTER TABLE `users` ADD COLUMN `follower_count` integer NOT NULL DEFAULT (0);
ALTER TABLE `users` ADD COLUMN `followee_count` integer NOT NULL DEFAULT (0);
ALTER TABLE `users` ADD COLUMN `note_count` integer NOT NULL DEFAULT (0);
ALTER TABLE `users` ADD COLUMN `follow_version` integer NOT NULL DEFAULT (0);
-- create "comments" table
CREATE TABLE `comments` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `note_id` integer NOT NULL, `author_id` integer NOT NULL, `root_id` integer NULL, `parent_id` integer NULL, `content` text NOT NULL, `like_count` integer NOT NULL DEFAULT (0), `reply_count` integer NOT NULL DEFAULT (0), `version` integer NOT NULL DEFAULT (1), `created_at` integer NOT NULL, CONSTRAINT `comments_not_negative` CHECK (like_count >= 0 AND reply_count >= 0));
-- create index "comment_note_id_id" to table: "comments"
CREATE INDEX `comment_note_id_id` ON `comments` (`note_id`, `id` DESC) WHERE root_id IS NULL;
-- create index "comment_root_id_id" to table: "comments"
CREATE INDEX `comment_root_id_id` ON `comments` (`root_id`, `id`) WHERE root_id IS NOT NULL;
-- create "feed_head" table
CREATE TABLE `feed_head` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `seq` integer NOT NULL DEFAULT (0));
-- its only row, which every publication updates
INSERT INTO `feed_head` (`id`, `seq`) VALUES (1, 0);
-- create "follows" table
CREATE TABLE `follows` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `follower_id` integer NOT NULL, `followee_id` integer NOT NULL, `since_seq` integer NOT NULL, `created_at` integer NOT NULL, CONSTRAINT `follows_not_self` CHECK (follower_id <> followee_id));
-- create index "follow_once" to table: "follows"
CREATE UNIQUE INDEX `follow_once` ON `follows` (`follower_id`, `followee_id`);
-- create index "follow_follower_id_id" to table: "follows"
CREATE INDEX `follow_follower_id_id` ON `follows` (`follower_id`, `id` DESC);
-- create index "follow_followee_id_id" to table: "follows"
CREATE INDEX `follow_followee_id_id` ON `follows` (`followee_id`, `id` DESC);
-- create "likes" table
CREATE TABLE `likes` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `kind` text NOT NULL, `target_id` integer NOT NULL, `user_id` integer NOT NULL, `created_at` integer NOT NULL);
-- create index "like_once" to table: "likes"
CREATE UNIQUE INDEX `like_once` ON `likes` (`kind`, `target_id`, `user_id`);
-- create index "like_kind_target_id_id" to table: "likes"
CREATE INDEX `like_kind_target_id_id` ON `likes` (`kind`, `target_id`, `id`);
-- create index "like_kind_user_id_target_id" to table: "likes"
CREATE INDEX `like_kind_user_id_target_id` ON `likes` (`kind`, `user_id`, `target_id` DESC);
-- create "notes" table
CREATE TABLE `notes` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `external_id` text NULL, `author_id` integer NOT NULL, `shop_id` integer NOT NULL, `title` text NOT NULL, `content` text NOT NULL, `images` json NOT NULL, `seq` integer NULL, `created_at` integer NOT NULL, `deleted_at` integer NULL);
-- create index "notes_external_id_key" to table: "notes"
CREATE UNIQUE INDEX `notes_external_id_key` ON `notes` (`external_id`);
-- create index "notes_seq_key" to table: "notes"
CREATE UNIQUE INDEX `notes_seq_key` ON `notes` (`seq`);
-- create index "note_author_id_seq" to table: "notes"
CREATE INDEX `note_author_id_seq` ON `notes` (`author_id`, `seq` DESC) WHERE deleted_at IS NULL;
-- create index "note_shop_id_seq" to table: "notes"
CREATE INDEX `note_shop_id_seq` ON `notes` (`shop_id`, `seq` DESC) WHERE deleted_at IS NULL;
-- create "note_counts" table
CREATE TABLE `note_counts` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `likes` integer NOT NULL DEFAULT (0), `comments` integer NOT NULL DEFAULT (0), `hot` integer NOT NULL, `version` integer NOT NULL DEFAULT (1), `deleted` bool NOT NULL DEFAULT (false), CONSTRAINT `note_counts_not_negative` CHECK (likes >= 0 AND comments >= 0));
-- create index "notecount_hot_id" to table: "note_counts"
CREATE INDEX `notecount_hot_id` ON `note_counts` (`hot` DESC, `id` DESC) WHERE deleted = false;
-- create "note_events" table
CREATE TABLE `note_events` (`seq` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `kind` text NOT NULL, `note_id` integer NOT NULL, `author_id` integer NOT NULL);

-- +goose Down
-- reverse: create "note_events" table
DROP TABLE `note_events`;
-- reverse: create index "notecount_hot_id" to table: "note_counts"
DROP INDEX `notecount_hot_id`;
-- reverse: create "note_counts" table
DROP TABLE `note_counts`;
-- reverse: create index "note_shop_id_seq" to table: "notes"
DROP INDEX `note_shop_id_seq`;
-- reverse: create index "note_author_id_seq" to table: "notes"
DROP INDEX `note_author_id_seq`;
-- reverse: create index "notes_seq_key" to table: "notes"
DROP INDEX `notes_seq_key`;
-- reverse: create index "notes_external_id_key" to table: "notes"
DROP INDEX `notes_external_id_key`;
-- reverse: create "notes" table
DROP TABLE `notes`;
-- reverse: create index "like_kind_user_id_target_id" to table: "likes"
DROP INDEX `like_kind_user_id_target_id`;
-- reverse: create index "like_kind_target_id_id" to table: "likes"
DROP INDEX `like_kind_target_id_id`;
-- reverse: create index "like_once" to table: "likes"
DROP INDEX `like_once`;
-- reverse: create "likes" table
DROP TABLE `likes`;
-- reverse: create index "follow_followee_id_id" to table: "follows"
DROP INDEX `follow_followee_id_id`;
-- reverse: create index "follow_follower_id_id" to table: "follows"
DROP INDEX `follow_follower_id_id`;
-- reverse: create index "follow_once" to table: "follows"
DROP INDEX `follow_once`;
-- reverse: create "follows" table
DROP TABLE `follows`;
-- reverse: create "feed_head" table
DROP TABLE `feed_head`;
-- reverse: create index "comment_root_id_id" to table: "comments"
DROP INDEX `comment_root_id_id`;
-- reverse: create index "comment_note_id_id" to table: "comments"
DROP INDEX `comment_note_id_id`;
-- reverse: create "comments" table
DROP TABLE `comments`;
-- reverse: modify "users" table
ALTER TABLE `users` DROP COLUMN `follow_version`;
ALTER TABLE `users` DROP COLUMN `note_count`;
ALTER TABLE `users` DROP COLUMN `followee_count`;
ALTER TABLE `users` DROP COLUMN `follower_count`;
