-- +goose Up
-- Index for the order by score. A shop without a score (0) ranks as average:
-- internal/shop/list.go has the same expression.
-- create index "shop_rank_id" to table: "shops"
CREATE INDEX `shop_rank_id` ON `shops` (COALESCE(NULLIF(`score`, 0), 3.8) DESC, `id` DESC);
-- create index "shop_type_id_rank_id" to table: "shops"
CREATE INDEX `shop_type_id_rank_id` ON `shops` (`type_id`, COALESCE(NULLIF(`score`, 0), 3.8) DESC, `id` DESC);

-- +goose Down
-- reverse: create index "shop_type_id_rank_id" to table: "shops"
DROP INDEX `shop_type_id_rank_id`;
-- reverse: create index "shop_rank_id" to table: "shops"
DROP INDEX `shop_rank_id`;
