-- +goose Up
-- Written by hand: a rebuilt table "shops" cannot be swapped in while foreign
-- keys are enforced, and a transaction cannot switch that off.
-- create "users" table
CREATE TABLE `users` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `phone` text NULL, `external_id` text NULL, `password_hash` text NULL, `nickname` text NOT NULL, `avatar_url` text NULL, `role` text NOT NULL DEFAULT ('CUSTOMER'), `city` text NULL, `bio` text NULL, `gender` text NOT NULL DEFAULT ('UNSPECIFIED'), `birthday` text NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL);
-- create index "users_phone_key" to table: "users"
CREATE UNIQUE INDEX `users_phone_key` ON `users` (`phone`);
-- create index "users_external_id_key" to table: "users"
CREATE UNIQUE INDEX `users_external_id_key` ON `users` (`external_id`);
-- create "sessions" table
CREATE TABLE `sessions` (`id` text NOT NULL, `created_at` datetime NOT NULL, `expires_at` datetime NOT NULL, `ended_at` datetime NULL, `user_id` integer NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `sessions_users_sessions` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE NO ACTION);
-- create index "session_user_id" to table: "sessions"
CREATE INDEX `session_user_id` ON `sessions` (`user_id`);
-- create index "session_expires_at" to table: "sessions"
CREATE INDEX `session_expires_at` ON `sessions` (`expires_at`);
-- create index "session_ended_at" to table: "sessions"
CREATE INDEX `session_ended_at` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;
-- add column "owner_id" to table: "shops"
ALTER TABLE `shops` ADD COLUMN `owner_id` integer NULL CONSTRAINT `shops_users_shops` REFERENCES `users` (`id`) ON DELETE SET NULL;
-- create index "shop_owner_id_id" to table: "shops"
CREATE INDEX `shop_owner_id_id` ON `shops` (`owner_id`, `id`);

-- +goose Down
-- reverse: add column "owner_id" to table: "shops"
DROP INDEX `shop_owner_id_id`;
ALTER TABLE `shops` DROP COLUMN `owner_id`;
-- reverse: create table "sessions"
DROP TABLE `sessions`;
-- reverse: create table "users"
DROP TABLE `users`;
