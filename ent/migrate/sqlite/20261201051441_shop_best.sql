-- +goose Up
-- Index for the order by score. Shops without ratings and without an imported score come
-- last, by popularity: internal/shop/list.go has the same expression. "shop_rank_id"
-- serves the previous release.
-- create index "shop_best_id" to table: "shops"
CREATE INDEX `shop_best_id` ON `shops` (COALESCE(`rating_score`, NULLIF(`score`, 0), CAST(`sold` + `save_count` AS double precision) / 1073741824) DESC, `id` DESC);

-- +goose Down
-- reverse: create index "shop_best_id" to table: "shops"
DROP INDEX `shop_best_id`;
