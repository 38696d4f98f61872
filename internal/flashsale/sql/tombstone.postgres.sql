--  tombstone: store failed orders under numbers without a row. The row then owns the number:
--  a late order finds it.
--
--  $1  JSON: [{id, user, voucher, shop: or 0, price: or 0, at: ms or 0 for now, code}]; for 0 the voucher's value counts
--
--  returns  id, created_at, pay_before of each stored row
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, terms_id, failure, version, tallied, created_at, pay_before)
SELECT t.id, t."user", t.voucher, t.shop, 'FAILED', true, true, t.price, t.terms_id, t.code, 1, false, t.at, t.at
FROM (
  SELECT i.id, i."user", i.voucher, i.code,
    COALESCE(NULLIF(i.shop, 0), v.shop_id, 0) AS shop, COALESCE(NULLIF(i.price, 0), v.pay_value, 0) AS price, v.terms_id,
    CASE i.at WHEN 0 THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE i.at END AS at
  FROM json_to_recordset($1::json) AS i(id bigint, "user" bigint, voucher bigint, shop bigint, price bigint, at bigint, code text)
  LEFT JOIN vouchers AS v ON v.id = i.voucher
) AS t
ORDER BY t.id
ON CONFLICT DO NOTHING
RETURNING id, created_at, pay_before
