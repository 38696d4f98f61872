-- orders: every order and every tombstone.
--
-- returns  number, user, voucher, status, why it failed or ''
SELECT id, user_id, voucher_id, status, coalesce(failure, '') FROM orders
