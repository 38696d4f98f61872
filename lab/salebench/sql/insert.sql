-- insert: store a batch of orders that do not exist, and nothing else.
--
-- $1  order numbers
-- $2  their users, in the same order
-- $3  now, in milliseconds
INSERT INTO salebench_orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, created_at, pay_before)
SELECT id, user_id, 1, 1, 'UNPAID', true, true, 100, $3::bigint, $3::bigint
FROM unnest($1::bigint[], $2::bigint[]) AS t (id, user_id)
ON CONFLICT DO NOTHING
