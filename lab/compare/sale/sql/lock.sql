-- lock: lock the row of a sale until the transaction ends.
--
-- $1  voucher
--
-- returns  stock
SELECT stock FROM flash_sales WHERE id = $1 FOR UPDATE
