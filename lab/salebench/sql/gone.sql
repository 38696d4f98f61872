-- gone: how many pieces of a sale were sold, by its row alone.
--
-- $1  the voucher
SELECT initial_stock - stock FROM flash_sales WHERE id = $1
