-- +goose Up
-- create "shops" table
CREATE TABLE `shops` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `external_id` text NULL, `name` text NOT NULL, `images` json NOT NULL, `area` text NULL, `address` text NOT NULL DEFAULT (''), `lat` real NOT NULL, `lng` real NOT NULL, `geo` integer NOT NULL, `avg_price` integer NULL, `sold` integer NOT NULL DEFAULT (0), `comment_count` integer NOT NULL DEFAULT (0), `score` real NOT NULL DEFAULT (0), `open_hours` text NULL, `search` text NOT NULL, `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `type_id` integer NOT NULL, CONSTRAINT `shops_shop_types_shops` FOREIGN KEY (`type_id`) REFERENCES `shop_types` (`id`) ON DELETE NO ACTION);
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
-- create index "shop_geo" to table: "shops"
CREATE INDEX `shop_geo` ON `shops` (`geo`);
-- create index "shop_type_id_geo" to table: "shops"
CREATE INDEX `shop_type_id_geo` ON `shops` (`type_id`, `geo`);
-- create "shop_types" table
CREATE TABLE `shop_types` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `key` text NOT NULL, `name` text NOT NULL, `icon_url` text NULL, `sort` integer NOT NULL);
-- create index "shop_types_key_key" to table: "shop_types"
CREATE UNIQUE INDEX `shop_types_key_key` ON `shop_types` (`key`);

-- +goose Down
-- reverse: create index "shop_types_key_key" to table: "shop_types"
DROP INDEX `shop_types_key_key`;
-- reverse: create "shop_types" table
DROP TABLE `shop_types`;
-- reverse: create index "shop_type_id_geo" to table: "shops"
DROP INDEX `shop_type_id_geo`;
-- reverse: create index "shop_geo" to table: "shops"
DROP INDEX `shop_geo`;
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
-- reverse: create "shops" table
DROP TABLE `shops`;
