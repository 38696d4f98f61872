--  tombstone: store failed orders under numbers without a row. The row then owns the number:
--  a late order finds it.
--
--  ?1  JSON: [{id, user, voucher, shop: or 0, price: or 0, at: ms or 0 for now, code}]; for 0 the voucher's value counts
--
--  returns  id, created_at, pay_before of each stored row
INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, terms_id, failure, version, tallied, created_at, pay_before)
SELECT t.id, t.user, t.voucher, t.shop, 'FAILED', true, true, t.price, t.terms_id, t.code, 1, false, t.at, t.at
FROM (
  SELECT i.value ->> 'id' AS id, i.value ->> 'user' AS user, i.value ->> 'voucher' AS voucher, i.value ->> 'code' AS code,
    COALESCE(NULLIF(i.value ->> 'shop', 0), v.shop_id, 0) AS shop, COALESCE(NULLIF(i.value ->> 'price', 0), v.pay_value, 0) AS price, v.terms_id,
    CASE i.value ->> 'at' WHEN 0 THEN CAST(round(unixepoch('subsec') * 1000) AS INTEGER) ELSE i.value ->> 'at' END AS at
  FROM json_each(?1) AS i
  LEFT JOIN vouchers AS v ON v.id = i.value ->> 'voucher'
) AS t
WHERE true
ORDER BY t.id
ON CONFLICT DO NOTHING
RETURNING id, created_at, pay_before
