-- deduct_if: take stock of a sale if there is enough.
--
-- $1  voucher
-- $2  quantity
UPDATE flash_sales SET stock = stock - $2::bigint WHERE id = $1 AND stock >= $2::bigint
