-- +goose Up
-- add column "used_at" to table: "sessions"
ALTER TABLE `sessions` ADD COLUMN `used_at` datetime NULL;
-- add column "device" to table: "sessions"
ALTER TABLE `sessions` ADD COLUMN `device` text NULL;
-- add column "device_id" to table: "sessions"
ALTER TABLE `sessions` ADD COLUMN `device_id` integer NULL;
-- create "devices" table
CREATE TABLE `devices` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `generation` integer NOT NULL DEFAULT (1), `created_at` datetime NOT NULL, `used_at` datetime NOT NULL, `user_id` integer NOT NULL, CONSTRAINT `devices_users_devices` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE NO ACTION);
-- create index "device_user_id" to table: "devices"
CREATE INDEX `device_user_id` ON `devices` (`user_id`);
-- create index "device_used_at" to table: "devices"
CREATE INDEX `device_used_at` ON `devices` (`used_at`);

-- +goose Down
-- reverse: create index "device_used_at" to table: "devices"
DROP INDEX `device_used_at`;
-- reverse: create index "device_user_id" to table: "devices"
DROP INDEX `device_user_id`;
-- reverse: create "devices" table
DROP TABLE `devices`;
-- reverse: add column "device_id" to table: "sessions"
ALTER TABLE `sessions` DROP COLUMN `device_id`;
-- reverse: add column "device" to table: "sessions"
ALTER TABLE `sessions` DROP COLUMN `device`;
-- reverse: add column "used_at" to table: "sessions"
ALTER TABLE `sessions` DROP COLUMN `used_at`;
