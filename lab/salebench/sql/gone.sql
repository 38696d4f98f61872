-- gone: read the number of sold items from the row of a sale.
--
-- $1  voucher
SELECT initial_stock - stock FROM flash_sales WHERE id = $1
