--  conflicts: read why orders of a batch were not stored, in the transaction of commit. Its locks
--  make the answer final.
--
--  $1  JSON: [{n, id, user, voucher, key: text or null}]
--
--  returns  n; refusal by sale and clock ('none' without a sale, 'off', 'early', 'late' or '');
--           stock; of the row with this id, or nulls: user, voucher, status, failure, created_at;
--           the live order of this user and voucher, or null; the order with this key, or null
SELECT i.n,
  CASE WHEN f.id IS NULL THEN 'none' WHEN v.status <> 'ON_SALE' THEN 'off' WHEN c.now < f.begins_at THEN 'early' WHEN c.now >= f.ends_at THEN 'late' ELSE '' END,
  COALESCE(f.stock, 0), o.user_id, o.voucher_id, o.status, o.failure, o.created_at,
  (
    SELECT h.id FROM orders AS h
    WHERE h.voucher_id = i.voucher AND h.user_id = i."user"
      AND h.one_per_user AND h.status <> 'CANCELLED' AND h.status <> 'REFUNDED' AND h.status <> 'FAILED'
    LIMIT 1
  ),
  (SELECT k.id FROM orders AS k WHERE k.idempotency = i.key LIMIT 1)
FROM json_to_recordset($1::json) AS i(n integer, id bigint, "user" bigint, voucher bigint, key text)
CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS c
LEFT JOIN flash_sales AS f ON f.id = i.voucher
LEFT JOIN vouchers AS v ON v.id = f.id
LEFT JOIN LATERAL (SELECT * FROM orders AS r WHERE r.id = i.id LIMIT 1) AS o ON true
