-- +goose Up
-- add column "points" to table: "users"
ALTER TABLE `users` ADD COLUMN `points` integer NOT NULL DEFAULT (0);
-- create "flash_sales" table
CREATE TABLE `flash_sales` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `stock` integer NOT NULL, `initial_stock` integer NOT NULL, `begins_at` integer NOT NULL, `ends_at` integer NOT NULL, `partition` integer NOT NULL, `buckets` integer NOT NULL, `edit_seq` integer NOT NULL DEFAULT (1), `swept_at` integer NULL, `voucher_id` integer NOT NULL, CONSTRAINT `flash_sales_vouchers_sale` FOREIGN KEY (`voucher_id`) REFERENCES `vouchers` (`id`) ON DELETE NO ACTION, CONSTRAINT `flash_sales_stock` CHECK (stock >= 0 AND stock <= initial_stock));
-- create index "flash_sales_voucher_id_key" to table: "flash_sales"
CREATE UNIQUE INDEX `flash_sales_voucher_id_key` ON `flash_sales` (`voucher_id`);
-- create index "flashsale_ends_at_id" to table: "flash_sales"
CREATE INDEX `flashsale_ends_at_id` ON `flash_sales` (`ends_at`, `id`);
-- create "id_segments" table
CREATE TABLE `id_segments` (`name` text NOT NULL, `next` integer NOT NULL, `second` integer NOT NULL, `secret` integer NOT NULL, PRIMARY KEY (`name`));
-- create "orders" table
CREATE TABLE `orders` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `user_id` integer NOT NULL, `voucher_id` integer NOT NULL, `shop_id` integer NOT NULL, `status` text NOT NULL, `one_per_user` bool NOT NULL, `flash` bool NOT NULL, `pay_value` integer NOT NULL, `pay_method` text NULL, `failure` text NULL, `idempotency` text NULL, `version` integer NOT NULL DEFAULT (1), `tallied` bool NOT NULL DEFAULT (false), `created_at` integer NOT NULL, `pay_before` integer NOT NULL, `paid_at` integer NULL, `used_at` integer NULL, `cancelled_at` integer NULL, `refunded_at` integer NULL);
-- create index "order_live" to table: "orders"
CREATE UNIQUE INDEX `order_live` ON `orders` (`voucher_id`, `user_id`) WHERE one_per_user AND status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED';
-- create index "order_idempotency" to table: "orders"
CREATE UNIQUE INDEX `order_idempotency` ON `orders` (`idempotency`) WHERE idempotency IS NOT NULL;
-- create index "order_user_id_created_at_id" to table: "orders"
CREATE INDEX `order_user_id_created_at_id` ON `orders` (`user_id`, `created_at` DESC, `id` DESC);
-- create index "order_shop_id_created_at_id" to table: "orders"
CREATE INDEX `order_shop_id_created_at_id` ON `orders` (`shop_id`, `created_at` DESC, `id` DESC);
-- create index "order_created_at_id" to table: "orders"
CREATE INDEX `order_created_at_id` ON `orders` (`created_at`, `id`);
-- create index "order_shop_id_paid_at" to table: "orders"
CREATE INDEX `order_shop_id_paid_at` ON `orders` (`shop_id`, `paid_at`) WHERE paid_at IS NOT NULL;
-- create index "order_paid_at" to table: "orders"
CREATE INDEX `order_paid_at` ON `orders` (`paid_at`) WHERE paid_at IS NOT NULL;
-- create index "order_pay_before_id" to table: "orders"
CREATE INDEX `order_pay_before_id` ON `orders` (`pay_before`, `id`) WHERE status = 'UNPAID';
-- create index "order_refunding" to table: "orders"
CREATE INDEX `order_refunding` ON `orders` (`id`) WHERE status = 'REFUNDING';
-- create index "order_untallied" to table: "orders"
CREATE INDEX `order_untallied` ON `orders` (`id`) WHERE (tallied = false AND (status = 'PAID' OR status = 'USED' OR status = 'REFUNDING')) OR (tallied = true AND status = 'REFUNDED');
-- create "payments" table
CREATE TABLE `payments` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `attempt` integer NOT NULL, `method` text NOT NULL, `amount` integer NOT NULL, `state` text NOT NULL DEFAULT ('OPEN'), `created_at` integer NOT NULL, `updated_at` integer NOT NULL, `order_id` integer NOT NULL, CONSTRAINT `payments_orders_payments` FOREIGN KEY (`order_id`) REFERENCES `orders` (`id`) ON DELETE NO ACTION);
-- create index "payment_order_id_attempt" to table: "payments"
CREATE UNIQUE INDEX `payment_order_id_attempt` ON `payments` (`order_id`, `attempt`);
-- create index "payment_open" to table: "payments"
CREATE UNIQUE INDEX `payment_open` ON `payments` (`order_id`) WHERE state = 'OPEN';
-- create index "payment_refunding" to table: "payments"
CREATE INDEX `payment_refunding` ON `payments` (`updated_at`) WHERE state = 'REFUNDING';
-- create "settings" table
CREATE TABLE `settings` (`name` text NOT NULL, `value` text NOT NULL, PRIMARY KEY (`name`));
-- create "vouchers" table
CREATE TABLE `vouchers` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `external_id` text NULL, `kind` text NOT NULL, `title` text NOT NULL, `sub_title` text NULL, `rules` text NULL, `pay_value` integer NOT NULL, `face_value` integer NOT NULL, `one_per_user` bool NOT NULL, `status` text NOT NULL DEFAULT ('ON_SALE'), `version` integer NOT NULL DEFAULT (1), `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `shop_id` integer NOT NULL, CONSTRAINT `vouchers_shops_vouchers` FOREIGN KEY (`shop_id`) REFERENCES `shops` (`id`) ON DELETE NO ACTION);
-- create index "vouchers_external_id_key" to table: "vouchers"
CREATE UNIQUE INDEX `vouchers_external_id_key` ON `vouchers` (`external_id`);
-- create index "voucher_shop_id_id" to table: "vouchers"
CREATE INDEX `voucher_shop_id_id` ON `vouchers` (`shop_id`, `id` DESC);

-- +goose Down
-- reverse: create index "voucher_shop_id_id" to table: "vouchers"
DROP INDEX `voucher_shop_id_id`;
-- reverse: create index "vouchers_external_id_key" to table: "vouchers"
DROP INDEX `vouchers_external_id_key`;
-- reverse: create "vouchers" table
DROP TABLE `vouchers`;
-- reverse: create "settings" table
DROP TABLE `settings`;
-- reverse: create index "payment_refunding" to table: "payments"
DROP INDEX `payment_refunding`;
-- reverse: create index "payment_open" to table: "payments"
DROP INDEX `payment_open`;
-- reverse: create index "payment_order_id_attempt" to table: "payments"
DROP INDEX `payment_order_id_attempt`;
-- reverse: create "payments" table
DROP TABLE `payments`;
-- reverse: create index "order_untallied" to table: "orders"
DROP INDEX `order_untallied`;
-- reverse: create index "order_refunding" to table: "orders"
DROP INDEX `order_refunding`;
-- reverse: create index "order_pay_before_id" to table: "orders"
DROP INDEX `order_pay_before_id`;
-- reverse: create index "order_paid_at" to table: "orders"
DROP INDEX `order_paid_at`;
-- reverse: create index "order_shop_id_paid_at" to table: "orders"
DROP INDEX `order_shop_id_paid_at`;
-- reverse: create index "order_created_at_id" to table: "orders"
DROP INDEX `order_created_at_id`;
-- reverse: create index "order_shop_id_created_at_id" to table: "orders"
DROP INDEX `order_shop_id_created_at_id`;
-- reverse: create index "order_user_id_created_at_id" to table: "orders"
DROP INDEX `order_user_id_created_at_id`;
-- reverse: create index "order_idempotency" to table: "orders"
DROP INDEX `order_idempotency`;
-- reverse: create index "order_live" to table: "orders"
DROP INDEX `order_live`;
-- reverse: create "orders" table
DROP TABLE `orders`;
-- reverse: create "id_segments" table
DROP TABLE `id_segments`;
-- reverse: create index "flashsale_ends_at_id" to table: "flash_sales"
DROP INDEX `flashsale_ends_at_id`;
-- reverse: create index "flash_sales_voucher_id_key" to table: "flash_sales"
DROP INDEX `flash_sales_voucher_id_key`;
-- reverse: create "flash_sales" table
DROP TABLE `flash_sales`;
-- reverse: add column "points" to table: "users"
ALTER TABLE `users` DROP COLUMN `points`;
