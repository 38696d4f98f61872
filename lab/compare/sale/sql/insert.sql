-- insert: store one order.
--
-- $1  order number
-- $2  user
-- $3  voucher
-- $4  quantity
-- $5  now, in milliseconds
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, quantity, created_at, pay_before)
VALUES ($1, $2, $3, 1, 'UNPAID', true, true, 100, $4, $5::bigint, $5::bigint + 900000)
