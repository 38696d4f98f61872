-- orders reads every order and every tombstone.
--
-- It returns number, user, voucher, status, failure code or ''.
SELECT id, user_id, voucher_id, status, coalesce(failure, '') FROM orders
