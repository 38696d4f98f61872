-- deduct_if: take pieces out of a sale that has so many.
--
-- $1  voucher
-- $2  pieces
UPDATE flash_sales SET stock = stock - $2::bigint WHERE id = $1 AND stock >= $2::bigint
