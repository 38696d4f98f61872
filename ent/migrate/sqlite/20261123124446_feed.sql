-- +goose Up
-- create "fan_outs" table
CREATE TABLE `fan_outs` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `below` integer NOT NULL, `pushed` integer NOT NULL);
-- create "feed_stars" table
CREATE TABLE `feed_stars` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `created_at` integer NOT NULL);

-- +goose Down
-- reverse: create "feed_stars" table
DROP TABLE `feed_stars`;
-- reverse: create "fan_outs" table
DROP TABLE `fan_outs`;
