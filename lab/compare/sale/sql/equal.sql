-- equal: compare and set by the value that is sold. Of all who read the same stock, one
-- finds it as it was.
--
-- $1  voucher
-- $2  the stock that was read
-- $3  the stock that is to be
UPDATE flash_sales SET stock = $3 WHERE id = $1 AND stock = $2
