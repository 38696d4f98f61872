-- +goose Up
-- create "check_ins" table
CREATE TABLE `check_ins` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `user_id` integer NOT NULL, `month` integer NOT NULL, `days` integer NOT NULL, `points` integer NOT NULL);
-- create index "check_in_month" to table: "check_ins"
CREATE UNIQUE INDEX `check_in_month` ON `check_ins` (`user_id`, `month`);
-- create "pictures" table
CREATE TABLE `pictures` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `hash` text NOT NULL, `format` text NOT NULL, `width` integer NOT NULL, `height` integer NOT NULL, `bytes` integer NOT NULL, `uploader_id` integer NULL, `stored` bool NOT NULL DEFAULT (false), `created_at` integer NOT NULL, `touched_at` integer NOT NULL);
-- create index "pictures_hash_key" to table: "pictures"
CREATE UNIQUE INDEX `pictures_hash_key` ON `pictures` (`hash`);
-- create index "picture_touched_at_id" to table: "pictures"
CREATE INDEX `picture_touched_at_id` ON `pictures` (`touched_at`, `id`);
-- create index "picture_uploader_id_created_at" to table: "pictures"
CREATE INDEX `picture_uploader_id_created_at` ON `pictures` (`uploader_id`, `created_at`);
-- create "picture_uses" table
CREATE TABLE `picture_uses` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `picture_id` integer NOT NULL, `kind` text NOT NULL, `owner_id` integer NOT NULL);
-- create index "picture_use_once" to table: "picture_uses"
CREATE UNIQUE INDEX `picture_use_once` ON `picture_uses` (`kind`, `owner_id`, `picture_id`);
-- create index "pictureuse_picture_id" to table: "picture_uses"
CREATE INDEX `pictureuse_picture_id` ON `picture_uses` (`picture_id`);
-- create "visit_days" table
CREATE TABLE `visit_days` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `shop_id` integer NOT NULL, `day` integer NOT NULL, `uniques` integer NOT NULL, `views` integer NOT NULL, `sketch` blob NOT NULL, `counter` text NOT NULL, `counted` integer NOT NULL);
-- create index "visit_day" to table: "visit_days"
CREATE UNIQUE INDEX `visit_day` ON `visit_days` (`shop_id`, `day`);

-- +goose Down
-- reverse: create index "visit_day" to table: "visit_days"
DROP INDEX `visit_day`;
-- reverse: create "visit_days" table
DROP TABLE `visit_days`;
-- reverse: create index "pictureuse_picture_id" to table: "picture_uses"
DROP INDEX `pictureuse_picture_id`;
-- reverse: create index "picture_use_once" to table: "picture_uses"
DROP INDEX `picture_use_once`;
-- reverse: create "picture_uses" table
DROP TABLE `picture_uses`;
-- reverse: create index "picture_uploader_id_created_at" to table: "pictures"
DROP INDEX `picture_uploader_id_created_at`;
-- reverse: create index "picture_touched_at_id" to table: "pictures"
DROP INDEX `picture_touched_at_id`;
-- reverse: create index "pictures_hash_key" to table: "pictures"
DROP INDEX `pictures_hash_key`;
-- reverse: create "pictures" table
DROP TABLE `pictures`;
-- reverse: create index "check_in_month" to table: "check_ins"
DROP INDEX `check_in_month`;
-- reverse: create "check_ins" table
DROP TABLE `check_ins`;
