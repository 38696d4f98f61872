-- +goose Up
-- create index "flashsale_unswept" to table: "flash_sales"
CREATE INDEX `flashsale_unswept` ON `flash_sales` (`ends_at`, `id`) WHERE swept_at IS NULL;

-- +goose Down
-- reverse: create index "flashsale_unswept" to table: "flash_sales"
DROP INDEX `flashsale_unswept`;
