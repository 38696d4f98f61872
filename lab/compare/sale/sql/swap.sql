-- swap: compare and set. Take stock and insert the order if the sale still has the version that was
-- read.
--
-- $1  order number
-- $2  user
-- $3  voucher
-- $4  quantity
-- $5  now, in milliseconds
-- $6  version
--
-- returns  nothing; inserts one row or none
WITH taken AS (
  UPDATE flash_sales SET stock = stock - $4::integer, version = version + 1
  WHERE id = $3::bigint AND version = $6::bigint
  RETURNING id
)
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, quantity, created_at, pay_before)
SELECT $1::bigint, $2::bigint, id, 1, 'UNPAID', true, true, 100, $4::integer, $5::bigint, $5::bigint + 900000 FROM taken
