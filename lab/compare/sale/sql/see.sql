-- see: read the state of a sale for a user.
--
-- $1  voucher
-- $2  user
--
-- returns  stock, version, the user's order or 0
SELECT stock, version, COALESCE((
  SELECT o.id FROM orders AS o
  WHERE o.voucher_id = $1::bigint AND o.user_id = $2::bigint
    AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'
  LIMIT 1
), 0)
FROM flash_sales WHERE id = $1::bigint
