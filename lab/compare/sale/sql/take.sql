-- take: the conditional update. In one statement, take stock and insert the order, if there is
-- enough stock and the user has no order. A statement that waited for the row of the sale sees its
-- new stock. The index order_live rejects an order of the same user that was inserted meanwhile.
--
-- $1  order number
-- $2  user
-- $3  voucher
-- $4  quantity
-- $5  now, in milliseconds
--
-- returns  nothing; inserts one row or none
WITH taken AS (
  UPDATE flash_sales SET stock = stock - $4::integer
  WHERE id = $3::bigint AND stock >= $4::integer AND NOT EXISTS (
    SELECT FROM orders AS o
    WHERE o.voucher_id = $3::bigint AND o.user_id = $2::bigint
      AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED')
  RETURNING id
)
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, quantity, created_at, pay_before)
SELECT $1::bigint, $2::bigint, id, 1, 'UNPAID', true, true, 100, $4::integer, $5::bigint, $5::bigint + 900000 FROM taken
