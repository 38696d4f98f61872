-- +goose Up
-- add column "terms_id" to table: "orders"
ALTER TABLE `orders` ADD COLUMN `terms_id` integer NULL;
-- add column "redeemed_by" to table: "orders"
ALTER TABLE `orders` ADD COLUMN `redeemed_by` integer NULL;
-- add column "redemption_disputed_at" to table: "orders"
ALTER TABLE `orders` ADD COLUMN `redemption_disputed_at` integer NULL;
-- create index "order_disputed" to table: "orders"
CREATE INDEX `order_disputed` ON `orders` (`created_at`, `id`) WHERE redemption_disputed_at IS NOT NULL;
-- add column "first_terms_id" to table: "vouchers"
ALTER TABLE `vouchers` ADD COLUMN `first_terms_id` integer NULL;
-- add column "terms_id" to table: "vouchers"
ALTER TABLE `vouchers` ADD COLUMN `terms_id` integer NULL;
-- create "voucher_terms" table
CREATE TABLE `voucher_terms` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `title` text NOT NULL, `sub_title` text NULL, `rules` text NULL, `face_value` integer NOT NULL);

-- +goose Down
-- reverse: create "voucher_terms" table
DROP TABLE `voucher_terms`;
-- reverse: add column "terms_id" to table: "vouchers"
ALTER TABLE `vouchers` DROP COLUMN `terms_id`;
-- reverse: add column "first_terms_id" to table: "vouchers"
ALTER TABLE `vouchers` DROP COLUMN `first_terms_id`;
-- reverse: create index "order_disputed" to table: "orders"
DROP INDEX `order_disputed`;
-- reverse: add column "redemption_disputed_at" to table: "orders"
ALTER TABLE `orders` DROP COLUMN `redemption_disputed_at`;
-- reverse: add column "redeemed_by" to table: "orders"
ALTER TABLE `orders` DROP COLUMN `redeemed_by`;
-- reverse: add column "terms_id" to table: "orders"
ALTER TABLE `orders` DROP COLUMN `terms_id`;
