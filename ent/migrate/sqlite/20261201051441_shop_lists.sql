-- +goose Up
-- Indexes of the lists of shops, by order and by place. They end with what filters compare, so that
-- a list finds its page without reading the rows that a filter excludes. By score, shops without
-- ratings come last, by popularity: internal/shop/list.go has the same expression. The new indexes also serve the statements of the previous release that read the dropped
-- ones; "shop_rank_id" and "shop_type_id_rank_id" serve its order by score.
-- create index "shop_by_score" to table: "shops"
CREATE INDEX `shop_by_score` ON `shops` (COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824) DESC, `id` DESC, `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_type_score" to table: "shops"
CREATE INDEX `shop_by_type_score` ON `shops` (`type_id`, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824) DESC, `id` DESC, `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_sold" to table: "shops"
CREATE INDEX `shop_by_sold` ON `shops` (`sold` DESC, `id` DESC, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_type_sold" to table: "shops"
CREATE INDEX `shop_by_type_sold` ON `shops` (`type_id`, `sold` DESC, `id` DESC, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_id" to table: "shops"
CREATE INDEX `shop_by_id` ON `shops` (`id` DESC, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_type_id" to table: "shops"
CREATE INDEX `shop_by_type_id` ON `shops` (`type_id`, `id` DESC, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_geo" to table: "shops"
CREATE INDEX `shop_by_geo` ON `shops` (`geo`, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- create index "shop_by_type_geo" to table: "shops"
CREATE INDEX `shop_by_type_geo` ON `shops` (`type_id`, `geo`, COALESCE(`rating_score`, CAST(`sold` + `save_count` AS double precision) / 1073741824), `avg_price`, `vouchers_until`, `flash_until`);
-- drop index "shop_sold_id" from table: "shops"
DROP INDEX `shop_sold_id`;
-- drop index "shop_type_id_sold_id" from table: "shops"
DROP INDEX `shop_type_id_sold_id`;
-- drop index "shop_type_id_id" from table: "shops"
DROP INDEX `shop_type_id_id`;
-- drop index "shop_geo" from table: "shops"
DROP INDEX `shop_geo`;
-- drop index "shop_type_id_geo" from table: "shops"
DROP INDEX `shop_type_id_geo`;

-- +goose Down
-- reverse: drop index "shop_type_id_geo" from table: "shops"
CREATE INDEX `shop_type_id_geo` ON `shops` (`type_id`, `geo`);
-- reverse: drop index "shop_geo" from table: "shops"
CREATE INDEX `shop_geo` ON `shops` (`geo`);
-- reverse: drop index "shop_type_id_id" from table: "shops"
CREATE INDEX `shop_type_id_id` ON `shops` (`type_id`, `id`);
-- reverse: drop index "shop_type_id_sold_id" from table: "shops"
CREATE INDEX `shop_type_id_sold_id` ON `shops` (`type_id`, `sold` DESC, `id` DESC);
-- reverse: drop index "shop_sold_id" from table: "shops"
CREATE INDEX `shop_sold_id` ON `shops` (`sold` DESC, `id` DESC);
-- reverse: create index "shop_by_type_geo"
DROP INDEX `shop_by_type_geo`;
-- reverse: create index "shop_by_geo"
DROP INDEX `shop_by_geo`;
-- reverse: create index "shop_by_type_id"
DROP INDEX `shop_by_type_id`;
-- reverse: create index "shop_by_id"
DROP INDEX `shop_by_id`;
-- reverse: create index "shop_by_type_sold"
DROP INDEX `shop_by_type_sold`;
-- reverse: create index "shop_by_sold"
DROP INDEX `shop_by_sold`;
-- reverse: create index "shop_by_type_score"
DROP INDEX `shop_by_type_score`;
-- reverse: create index "shop_by_score"
DROP INDEX `shop_by_score`;
