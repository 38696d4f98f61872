-- by_shops: the newest vouchers of shops, newest first.
--
-- $1  a JSON array of {shop, all, most}: the shop's id, whether to include vouchers that are off
--     sale or ended, and the maximum number
-- $2  now, milliseconds
--
-- returns  shop, all, id, end of its sale (milliseconds; 0 for an ordinary voucher)
SELECT shop, every, id, ends_at
FROM (
  SELECT a.value ->> 'shop' AS shop, a.value ->> 'all' AS every, a.value ->> 'most' AS most, v.id AS id, coalesce(f.ends_at, 0) AS ends_at,
    row_number() OVER (PARTITION BY a.value ->> 'shop', a.value ->> 'all' ORDER BY v.id DESC) AS nth
  FROM json_each($1) AS a
  JOIN vouchers AS v ON v.shop_id = a.value ->> 'shop'
  LEFT JOIN flash_sales AS f ON f.id = v.id
  WHERE a.value ->> 'all' OR v.status = 'ON_SALE' AND (f.id IS NULL OR f.ends_at > $2)
)
WHERE nth <= most
ORDER BY shop, id DESC
