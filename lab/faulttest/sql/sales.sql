-- sales reads every flash sale in the database.
--
-- It returns voucher, stock, initial stock, partition, buckets, and 1 if Redis no longer has it.
SELECT id, stock, initial_stock, partition, buckets, CASE WHEN swept_at IS NULL THEN 0 ELSE 1 END FROM flash_sales
