-- rows: read the live orders of a sale.
--
-- $1  voucher
--
-- returns  number, user, quantity
SELECT id, user_id, quantity FROM orders
WHERE voucher_id = $1 AND status <> 'CANCELLED' AND status <> 'REFUNDED' AND status <> 'FAILED'
