-- +goose Up
-- add column "currency" to table: "payments"
ALTER TABLE `payments` ADD COLUMN `currency` text NOT NULL DEFAULT 'CNY';
-- create "balances" table
CREATE TABLE `balances` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `amount` integer NOT NULL DEFAULT (0), CONSTRAINT `balance_not_negative` CHECK (amount >= 0));
-- create "balance_entries" table
CREATE TABLE `balance_entries` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `user_id` integer NOT NULL, `amount` integer NOT NULL, `kind` text NOT NULL, `payment_id` integer NULL, `actor_id` integer NULL, `reason` text NOT NULL DEFAULT (''), `created_at` integer NOT NULL);
-- create index "balanceentry_user_id_id" to table: "balance_entries"
CREATE INDEX `balanceentry_user_id_id` ON `balance_entries` (`user_id`, `id`);
-- create index "balance_entry_once" to table: "balance_entries"
CREATE UNIQUE INDEX `balance_entry_once` ON `balance_entries` (`payment_id`, `kind`) WHERE payment_id IS NOT NULL;

-- +goose Down
-- reverse: create index "balance_entry_once" to table: "balance_entries"
DROP INDEX `balance_entry_once`;
-- reverse: create index "balanceentry_user_id_id" to table: "balance_entries"
DROP INDEX `balanceentry_user_id_id`;
-- reverse: create "balance_entries" table
DROP TABLE `balance_entries`;
-- reverse: create "balances" table
DROP TABLE `balances`;
-- reverse: add column "currency" to table: "payments"
ALTER TABLE `payments` DROP COLUMN `currency`;
