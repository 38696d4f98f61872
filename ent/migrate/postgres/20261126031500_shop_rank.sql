-- +goose NO TRANSACTION
-- +goose Up
-- Index for the order by score. A shop without a score (0) ranks as average:
-- internal/shop/list.go has the same expression. "shop_score_id" and
-- "shop_type_id_score_id" serve the previous release.
-- create index "shop_rank_id" to table: "shops"
CREATE INDEX CONCURRENTLY "shop_rank_id" ON "shops" (COALESCE(NULLIF("score", 0), 3.8) DESC, "id" DESC);

-- +goose Down
-- reverse: create index "shop_rank_id" to table: "shops"
DROP INDEX "shop_rank_id";
