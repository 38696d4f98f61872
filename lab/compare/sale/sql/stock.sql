-- stock: read the stock in the database.
--
-- $1  voucher
SELECT stock FROM flash_sales WHERE id = $1
