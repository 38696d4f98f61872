-- holder: read the order of a user in a sale.
--
-- $1  voucher
-- $2  user
--
-- returns  its number; no row if there is none
SELECT id FROM orders
WHERE voucher_id = $1 AND user_id = $2
  AND one_per_user AND status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'
LIMIT 1
