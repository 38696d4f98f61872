-- deduct: take stock of a sale without a check.
--
-- $1  voucher
-- $2  quantity
UPDATE flash_sales SET stock = stock - $2::bigint WHERE id = $1
