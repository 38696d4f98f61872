-- +goose NO TRANSACTION
-- +goose Up
-- create index "shop_type_id_rank_id" to table: "shops"
CREATE INDEX CONCURRENTLY "shop_type_id_rank_id" ON "shops" ("type_id", COALESCE(NULLIF("score", 0), 3.8) DESC, "id" DESC);

-- +goose Down
-- reverse: create index "shop_type_id_rank_id" to table: "shops"
DROP INDEX "shop_type_id_rank_id";
