-- +goose Up
-- add column "saves" to table: "note_counts"
ALTER TABLE `note_counts` ADD COLUMN `saves` integer NOT NULL DEFAULT (0);
-- no release uses these indexes any more
-- drop index "shop_score_id" from table: "shops"
DROP INDEX `shop_score_id`;
-- drop index "shop_type_id_score_id" from table: "shops"
DROP INDEX `shop_type_id_score_id`;
-- add column "rating_score" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `rating_score` real NULL;
-- add column "stars_1" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `stars_1` integer NOT NULL DEFAULT (0);
-- add column "stars_2" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `stars_2` integer NOT NULL DEFAULT (0);
-- add column "stars_3" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `stars_3` integer NOT NULL DEFAULT (0);
-- add column "stars_4" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `stars_4` integer NOT NULL DEFAULT (0);
-- add column "stars_5" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `stars_5` integer NOT NULL DEFAULT (0);
-- add column "taste_count" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `taste_count` integer NOT NULL DEFAULT (0);
-- add column "taste_sum" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `taste_sum` integer NOT NULL DEFAULT (0);
-- add column "environment_count" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `environment_count` integer NOT NULL DEFAULT (0);
-- add column "environment_sum" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `environment_sum` integer NOT NULL DEFAULT (0);
-- add column "service_count" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `service_count` integer NOT NULL DEFAULT (0);
-- add column "service_sum" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `service_sum` integer NOT NULL DEFAULT (0);
-- add column "save_count" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `save_count` integer NOT NULL DEFAULT (0);
-- add column "trend" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `trend` real NULL;
-- add column "vouchers_until" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `vouchers_until` integer NULL;
-- add column "flash_until" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `flash_until` integer NULL;
-- add column "phone" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `phone` text NULL;
-- add column "website" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `website` text NULL;
-- add column "time_zone" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `time_zone` text NOT NULL DEFAULT ('');
-- add column "open_mask" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `open_mask` text NULL;
-- create index "shop_trend_id" to table: "shops"
CREATE INDEX `shop_trend_id` ON `shops` (`trend` DESC, `id` DESC) WHERE trend IS NOT NULL;
-- create index "shop_type_id_trend_id" to table: "shops"
CREATE INDEX `shop_type_id_trend_id` ON `shops` (`type_id`, `trend` DESC, `id` DESC) WHERE trend IS NOT NULL;
-- create "ratings" table
CREATE TABLE `ratings` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `shop_id` integer NOT NULL, `user_id` integer NOT NULL, `stars` integer NOT NULL, `taste` integer NULL, `environment` integer NULL, `service` integer NULL, `created_at` integer NOT NULL, `updated_at` integer NOT NULL, CONSTRAINT `ratings_in_range` CHECK (stars BETWEEN 1 AND 5 AND taste BETWEEN 1 AND 5 AND environment BETWEEN 1 AND 5 AND service BETWEEN 1 AND 5));
-- create index "rating_once" to table: "ratings"
CREATE UNIQUE INDEX `rating_once` ON `ratings` (`shop_id`, `user_id`);
-- create index "rating_shop_id_updated_at" to table: "ratings"
CREATE INDEX `rating_shop_id_updated_at` ON `ratings` (`shop_id`, `updated_at`);
-- create index "rating_user_id_id" to table: "ratings"
CREATE INDEX `rating_user_id_id` ON `ratings` (`user_id`, `id`);
-- create "saves" table
CREATE TABLE `saves` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `kind` text NOT NULL, `target_id` integer NOT NULL, `user_id` integer NOT NULL, `created_at` integer NOT NULL);
-- create index "save_once" to table: "saves"
CREATE UNIQUE INDEX `save_once` ON `saves` (`kind`, `target_id`, `user_id`);
-- create index "save_kind_user_id_id" to table: "saves"
CREATE INDEX `save_kind_user_id_id` ON `saves` (`kind`, `user_id`, `id` DESC);
-- create index "save_kind_target_id_created_at" to table: "saves"
CREATE INDEX `save_kind_target_id_created_at` ON `saves` (`kind`, `target_id`, `created_at`);

-- +goose Down
-- reverse: create index "save_kind_target_id_created_at"
DROP INDEX `save_kind_target_id_created_at`;
-- reverse: create index "save_kind_user_id_id"
DROP INDEX `save_kind_user_id_id`;
-- reverse: create index "save_once"
DROP INDEX `save_once`;
-- reverse: create table "saves"
DROP TABLE `saves`;
-- reverse: create index "rating_user_id_id"
DROP INDEX `rating_user_id_id`;
-- reverse: create index "rating_shop_id_updated_at"
DROP INDEX `rating_shop_id_updated_at`;
-- reverse: create index "rating_once"
DROP INDEX `rating_once`;
-- reverse: create table "ratings"
DROP TABLE `ratings`;
-- reverse: create index "shop_type_id_trend_id"
DROP INDEX `shop_type_id_trend_id`;
-- reverse: create index "shop_trend_id"
DROP INDEX `shop_trend_id`;
-- reverse: add column "open_mask" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `open_mask`;
-- reverse: add column "time_zone" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `time_zone`;
-- reverse: add column "website" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `website`;
-- reverse: add column "phone" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `phone`;
-- reverse: add column "flash_until" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `flash_until`;
-- reverse: add column "vouchers_until" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `vouchers_until`;
-- reverse: add column "trend" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `trend`;
-- reverse: add column "save_count" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `save_count`;
-- reverse: add column "service_sum" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `service_sum`;
-- reverse: add column "service_count" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `service_count`;
-- reverse: add column "environment_sum" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `environment_sum`;
-- reverse: add column "environment_count" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `environment_count`;
-- reverse: add column "taste_sum" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `taste_sum`;
-- reverse: add column "taste_count" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `taste_count`;
-- reverse: add column "stars_5" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `stars_5`;
-- reverse: add column "stars_4" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `stars_4`;
-- reverse: add column "stars_3" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `stars_3`;
-- reverse: add column "stars_2" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `stars_2`;
-- reverse: add column "stars_1" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `stars_1`;
-- reverse: add column "rating_score" to table: "shops"
ALTER TABLE `shops` DROP COLUMN `rating_score`;
-- reverse: drop index "shop_type_id_score_id" from table: "shops"
CREATE INDEX `shop_type_id_score_id` ON `shops` (`type_id`, `score` DESC, `id` DESC);
-- reverse: drop index "shop_score_id" from table: "shops"
CREATE INDEX `shop_score_id` ON `shops` (`score` DESC, `id` DESC);
-- reverse: add column "saves" to table: "note_counts"
ALTER TABLE `note_counts` DROP COLUMN `saves`;
