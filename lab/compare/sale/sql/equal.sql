-- equal: compare and set by stock. Of all callers that read the same stock, one succeeds.
--
-- $1  voucher
-- $2  the stock that was read
-- $3  the new stock
UPDATE flash_sales SET stock = $3 WHERE id = $1 AND stock = $2
