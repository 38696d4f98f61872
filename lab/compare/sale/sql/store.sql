-- store: store a batch of orders that were admitted elsewhere, and take their stock.
--
-- $1  order numbers
-- $2  their users
-- $3  their quantities
-- $4  voucher
-- $5  now, in milliseconds
WITH stored AS (
  INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, quantity, created_at, pay_before)
  SELECT i.id, i."user", $4::bigint, 1, 'UNPAID', true, true, 100, i.quantity, $5::bigint, $5::bigint + 900000
  FROM unnest($1::bigint[], $2::bigint[], $3::integer[]) AS i (id, "user", quantity)
  ORDER BY i.id
  ON CONFLICT DO NOTHING
  RETURNING quantity
)
UPDATE flash_sales SET stock = stock - (SELECT sum(quantity) FROM stored)
WHERE id = $4::bigint AND EXISTS (SELECT FROM stored)
