-- +goose Up
-- modify "shops" table
ALTER TABLE `shops` ADD COLUMN `version` integer NOT NULL DEFAULT (1);
-- modify "users" table
ALTER TABLE `users` ADD COLUMN `version` integer NOT NULL DEFAULT (1);

-- +goose Down
-- reverse: modify "users" table
ALTER TABLE `users` DROP COLUMN `version`;
-- reverse: modify "shops" table
ALTER TABLE `shops` DROP COLUMN `version`;
