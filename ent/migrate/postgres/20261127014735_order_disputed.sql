-- +goose NO TRANSACTION
-- +goose Up
-- create index "order_disputed" to table: "orders"
CREATE INDEX CONCURRENTLY "order_disputed" ON "orders" ("created_at", "id") WHERE (redemption_disputed_at IS NOT NULL);

-- +goose Down
-- reverse: create index "order_disputed" to table: "orders"
DROP INDEX "order_disputed";
