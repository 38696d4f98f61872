-- +goose Up
-- disable the enforcement of foreign-keys constraints
PRAGMA foreign_keys = off;
-- create "new_shops" table
CREATE TABLE `new_shops` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `external_id` text NULL, `name` text NOT NULL, `images` json NOT NULL, `area` text NULL, `address` text NOT NULL DEFAULT (''), `lat` real NOT NULL, `lng` real NOT NULL, `geo` integer NOT NULL, `avg_price` integer NULL, `sold` integer NOT NULL DEFAULT (0), `comment_count` integer NOT NULL DEFAULT (0), `score` real NOT NULL DEFAULT (0), `open_hours` text NULL, `search` text NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `type_id` integer NOT NULL, `owner_id` integer NULL, CONSTRAINT `shops_shop_types_shops` FOREIGN KEY (`type_id`) REFERENCES `shop_types` (`id`) ON DELETE NO ACTION, CONSTRAINT `shops_users_shops` FOREIGN KEY (`owner_id`) REFERENCES `users` (`id`) ON DELETE SET NULL);
-- copy rows from old table "shops" to new temporary table "new_shops"
INSERT INTO `new_shops` (`id`, `external_id`, `name`, `images`, `area`, `address`, `lat`, `lng`, `geo`, `avg_price`, `sold`, `comment_count`, `score`, `open_hours`, `search`, `created_at`, `updated_at`, `type_id`) SELECT `id`, `external_id`, `name`, `images`, `area`, `address`, `lat`, `lng`, `geo`, `avg_price`, `sold`, `comment_count`, `score`, `open_hours`, `search`, `created_at`, `updated_at`, `type_id` FROM `shops`;
-- drop "shops" table after copying rows
DROP TABLE `shops`;
-- rename temporary table "new_shops" to "shops"
ALTER TABLE `new_shops` RENAME TO `shops`;
-- create index "shops_external_id_key" to table: "shops"
CREATE UNIQUE INDEX `shops_external_id_key` ON `shops` (`external_id`);
-- create index "shop_score_id" to table: "shops"
CREATE INDEX `shop_score_id` ON `shops` (`score` DESC, `id` DESC);
-- create index "shop_type_id_score_id" to table: "shops"
CREATE INDEX `shop_type_id_score_id` ON `shops` (`type_id`, `score` DESC, `id` DESC);
-- create index "shop_sold_id" to table: "shops"
CREATE INDEX `shop_sold_id` ON `shops` (`sold` DESC, `id` DESC);
-- create index "shop_type_id_sold_id" to table: "shops"
CREATE INDEX `shop_type_id_sold_id` ON `shops` (`type_id`, `sold` DESC, `id` DESC);
-- create index "shop_type_id_id" to table: "shops"
CREATE INDEX `shop_type_id_id` ON `shops` (`type_id`, `id`);
-- create index "shop_owner_id_id" to table: "shops"
CREATE INDEX `shop_owner_id_id` ON `shops` (`owner_id`, `id`);
-- create index "shop_geo" to table: "shops"
CREATE INDEX `shop_geo` ON `shops` (`geo`);
-- create index "shop_type_id_geo" to table: "shops"
CREATE INDEX `shop_type_id_geo` ON `shops` (`type_id`, `geo`);
-- create "sessions" table
CREATE TABLE `sessions` (`id` text NOT NULL, `created_at` datetime NOT NULL, `expires_at` datetime NOT NULL, `ended_at` datetime NULL, `user_id` integer NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `sessions_users_sessions` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE NO ACTION);
-- create index "session_user_id" to table: "sessions"
CREATE INDEX `session_user_id` ON `sessions` (`user_id`);
-- create index "session_expires_at" to table: "sessions"
CREATE INDEX `session_expires_at` ON `sessions` (`expires_at`);
-- create index "session_ended_at" to table: "sessions"
CREATE INDEX `session_ended_at` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;
-- create "users" table
CREATE TABLE `users` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `phone` text NULL, `external_id` text NULL, `password_hash` text NULL, `nickname` text NOT NULL, `avatar_url` text NULL, `role` text NOT NULL DEFAULT ('CUSTOMER'), `city` text NULL, `bio` text NULL, `gender` text NOT NULL DEFAULT ('UNSPECIFIED'), `birthday` text NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL);
-- create index "users_phone_key" to table: "users"
CREATE UNIQUE INDEX `users_phone_key` ON `users` (`phone`);
-- create index "users_external_id_key" to table: "users"
CREATE UNIQUE INDEX `users_external_id_key` ON `users` (`external_id`);
-- enable back the enforcement of foreign-keys constraints
PRAGMA foreign_keys = on;

-- +goose Down
-- reverse: create index "users_external_id_key" to table: "users"
DROP INDEX `users_external_id_key`;
-- reverse: create index "users_phone_key" to table: "users"
DROP INDEX `users_phone_key`;
-- reverse: create "users" table
DROP TABLE `users`;
-- reverse: create index "session_ended_at" to table: "sessions"
DROP INDEX `session_ended_at`;
-- reverse: create index "session_expires_at" to table: "sessions"
DROP INDEX `session_expires_at`;
-- reverse: create index "session_user_id" to table: "sessions"
DROP INDEX `session_user_id`;
-- reverse: create "sessions" table
DROP TABLE `sessions`;
-- reverse: create index "shop_type_id_geo" to table: "shops"
DROP INDEX `shop_type_id_geo`;
-- reverse: create index "shop_geo" to table: "shops"
DROP INDEX `shop_geo`;
-- reverse: create index "shop_owner_id_id" to table: "shops"
DROP INDEX `shop_owner_id_id`;
-- reverse: create index "shop_type_id_id" to table: "shops"
DROP INDEX `shop_type_id_id`;
-- reverse: create index "shop_type_id_sold_id" to table: "shops"
DROP INDEX `shop_type_id_sold_id`;
-- reverse: create index "shop_sold_id" to table: "shops"
DROP INDEX `shop_sold_id`;
-- reverse: create index "shop_type_id_score_id" to table: "shops"
DROP INDEX `shop_type_id_score_id`;
-- reverse: create index "shop_score_id" to table: "shops"
DROP INDEX `shop_score_id`;
-- reverse: create index "shops_external_id_key" to table: "shops"
DROP INDEX `shops_external_id_key`;
-- reverse: create "new_shops" table
DROP TABLE `new_shops`;
