-- stock: the pieces that the database has left.
--
-- $1  voucher
SELECT stock FROM flash_sales WHERE id = $1
