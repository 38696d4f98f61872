-- holders: read the orders of some users in a sale.
--
-- $1  voucher
-- $2  users
--
-- returns  user, order
SELECT user_id, id FROM orders
WHERE voucher_id = $1 AND user_id = ANY($2::bigint[])
  AND one_per_user AND status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'
