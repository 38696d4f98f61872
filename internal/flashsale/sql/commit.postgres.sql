-- commit: store a batch of orders of flash sales, each if its user has no live order of the
-- voucher and a piece is left for it, and take what was stored out of the stock. The rows of
-- the sales are locked first, in the order of their ids. A scalar subquery looks for the
-- holder: it is one probe of an index for each order, whatever the planner knows of the table.
--
-- What another transaction stored while this one waited for the lock is not seen, and stops
-- at the index order_live; a piece may then stay that was meant for it. Repeat the statement
-- with those that are left: it sees all, the sales are locked.
--
-- What is written is what was locked, and not what the row said when the statement began: a
-- CHECK is tested before the update finds that the row has changed since, as it has if a
-- piece came back while this one waited.
--
-- An order keeps the terms that its voucher has when the statement begins.
--
-- $1  JSON: [{n: rank, id, user, voucher, shop, price, at: ms or 0 for now, key: text or null,
--     direct: whether window and status are to be asked}]
-- $2  milliseconds that an order may stay unpaid
--
-- returns  id, created_at, pay_before of each order that was stored
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
