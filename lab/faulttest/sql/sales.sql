-- sales reads every flash sale in the database.
--
-- It returns voucher, stock, initial stock, partition, buckets, 1 if its keys were swept out
-- of Redis.
SELECT id, stock, initial_stock, partition, buckets, CASE WHEN swept_at IS NULL THEN 0 ELSE 1 END FROM flash_sales
