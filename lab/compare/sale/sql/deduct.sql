-- deduct: take pieces out of a sale, whatever it has.
--
-- $1  voucher
-- $2  pieces
UPDATE flash_sales SET stock = stock - $2::bigint WHERE id = $1
