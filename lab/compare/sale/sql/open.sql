-- open: create a sale in the tables without constraints.
--
-- $1  voucher
-- $2  stock
INSERT INTO flash_sales (id, voucher_id, stock, initial_stock, begins_at, ends_at, partition, buckets)
VALUES ($1::bigint, $1::bigint, $2::bigint, $2::bigint, 0, 0, 0, 1)
