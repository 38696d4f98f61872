--  commit: store a batch of flash sale orders and take them out of the stock. An order is
--  stored if its user has no live order of the voucher and a unit is left.
--
--  The statement locks the rows of the sales first, in id order. A scalar subquery looks up
--  the live order: one index probe for each order, whatever the statistics are.
--
--  The statement does not see rows that another transaction stored while it waited for the
--  lock. The index order_live rejects their duplicates, and a unit may then stay unsold. Repeat the
--  statement for the remaining orders: the sales are locked, so it sees all.
--
--  The update writes values of the locked row, not of the row at the start of the statement.
--  A CHECK is evaluated before the update detects a newer row, for example with a released
--  unit.
--
--  An order gets the terms of its voucher at the start of the statement.
--
--  $1  JSON: [{n: rank, id, user, voucher, shop, price, at: ms or 0 for now, key: text or null,
--      direct: whether to check window and status}]
--  $2  time to pay, milliseconds
--
--  returns  id, created_at, pay_before of each stored order
WITH input AS MATERIALIZED (
  SELECT i.* FROM json_to_recordset($1::json) AS i(
    n integer, id bigint, "user" bigint, voucher bigint, shop bigint, price bigint, at bigint, key text, direct boolean)
), sales AS MATERIALIZED (
  SELECT f.id, f.stock, f.initial_stock, f.begins_at, f.ends_at, v.status, v.terms_id, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
  FROM flash_sales AS f JOIN vouchers AS v ON v.id = f.id
  WHERE f.id IN (SELECT voucher FROM input)
  ORDER BY f.id
  FOR UPDATE OF f
), ranked AS (
  SELECT i.*, s.stock, s.now, s.terms_id, row_number() OVER (PARTITION BY i.voucher ORDER BY i.n) AS rank
  FROM input AS i JOIN sales AS s ON s.id = i.voucher
  WHERE (NOT i.direct OR (s.status = 'ON_SALE' AND s.begins_at <= s.now AND s.now < s.ends_at))
    AND (
      SELECT o.id FROM orders AS o
      WHERE o.voucher_id = i.voucher AND o.user_id = i."user"
        AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'
      LIMIT 1
    ) IS NULL
), stored AS (
  INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, terms_id, idempotency, version, tallied, created_at, pay_before)
  SELECT id, "user", voucher, shop, 'UNPAID', true, true, price, terms_id, key, 1, false, CASE at WHEN 0 THEN now ELSE at END, now + $2::bigint
  FROM ranked
  WHERE rank <= stock
  ORDER BY id
  ON CONFLICT DO NOTHING
  RETURNING id, voucher_id, created_at, pay_before
), taken AS (
  UPDATE flash_sales AS f SET stock = s.stock - t.n, initial_stock = s.initial_stock
  FROM (SELECT voucher_id, count(*) AS n FROM stored GROUP BY voucher_id) AS t JOIN sales AS s ON s.id = t.voucher_id
  WHERE f.id = s.id
)
SELECT id, created_at, pay_before FROM stored
