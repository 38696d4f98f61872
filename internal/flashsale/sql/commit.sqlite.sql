--  commit: store a batch of flash sale orders, each if its user has no live order of the
--  voucher and a unit is left. The transaction has exclusive access. The statement "take"
--  then lowers the stock.
--
--  An order gets the current terms of its voucher.
--
--  ?1  JSON: [{n: rank, id, user, voucher, shop, price, at: ms or 0 for now, key: text or null,
--      direct: whether to check window and status}]
--  ?2  time to pay, milliseconds
--
--  returns  id, created_at, pay_before of each stored order
WITH input AS MATERIALIZED (
  SELECT value ->> 'n' AS n, value ->> 'id' AS id, value ->> 'user' AS user, value ->> 'voucher' AS voucher, value ->> 'shop' AS shop,
    value ->> 'price' AS price, value ->> 'at' AS at, value ->> 'key' AS key, value ->> 'direct' AS direct,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now
  FROM json_each(?1)
), ranked AS (
  SELECT i.*, f.stock, v.terms_id, row_number() OVER (PARTITION BY i.voucher ORDER BY i.n) AS rank
  FROM input AS i JOIN flash_sales AS f ON f.id = i.voucher JOIN vouchers AS v ON v.id = i.voucher
  WHERE (NOT i.direct OR (v.status = 'ON_SALE' AND f.begins_at <= i.now AND i.now < f.ends_at))
    AND NOT EXISTS (
      SELECT 1 FROM orders AS o
      WHERE o.voucher_id = i.voucher AND o.user_id = i.user
        AND o.one_per_user AND o.status <> 'CANCELLED' AND o.status <> 'REFUNDED' AND o.status <> 'FAILED'
    )
)
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, terms_id, idempotency, version, tallied, created_at, pay_before)
SELECT id, user, voucher, shop, 'UNPAID', true, true, price, terms_id, key, 1, false, CASE at WHEN 0 THEN now ELSE at END, now + ?2
FROM ranked
WHERE rank <= stock
ORDER BY id
ON CONFLICT DO NOTHING
RETURNING id, created_at, pay_before
