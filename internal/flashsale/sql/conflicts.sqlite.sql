--  conflicts: read why orders of a batch were not stored, in the transaction of commit, which has
--  exclusive access.
--
--  ?1  JSON: [{n, id, user, voucher, key: text or null}]
--
--  returns  n; refusal by sale and clock ('none' without a sale, 'off', 'early', 'late' or '');
--           stock; of the row with this id, or nulls: user, voucher, status, failure, created_at;
--           the live order of this user and voucher, or null; the order with this key, or null
WITH input AS MATERIALIZED (
  SELECT value ->> 'n' AS n, value ->> 'id' AS id, value ->> 'user' AS user, value ->> 'voucher' AS voucher, value ->> 'key' AS key,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now
  FROM json_each(?1)
)
SELECT i.n,
  CASE WHEN f.id IS NULL THEN 'none' WHEN v.status <> 'ON_SALE' THEN 'off' WHEN i.now < f.begins_at THEN 'early' WHEN i.now >= f.ends_at THEN 'late' ELSE '' END,
  COALESCE(f.stock, 0), o.user_id, o.voucher_id, o.status, o.failure, o.created_at,
  (
    SELECT h.id FROM orders AS h
    WHERE h.voucher_id = i.voucher AND h.user_id = i.user
      AND h.one_per_user AND h.status <> 'CANCELLED' AND h.status <> 'REFUNDED' AND h.status <> 'FAILED'
    LIMIT 1
  ),
  (SELECT k.id FROM orders AS k WHERE k.idempotency = i.key AND k.idempotency IS NOT NULL LIMIT 1)
FROM input AS i
LEFT JOIN flash_sales AS f ON f.id = i.voucher
LEFT JOIN vouchers AS v ON v.id = f.id
LEFT JOIN orders AS o ON o.id = i.id
