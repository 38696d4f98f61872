-- by_shops: the newest vouchers of shops, newest first.
--
-- $1  a JSON array of {shop, all, most}: the shop's id, whether to include vouchers that are off
--     sale or ended, and the maximum number
-- $2  now, milliseconds
--
-- returns  shop, all, id, end of its sale (milliseconds; 0 for an ordinary voucher)
SELECT a.shop, a."all", v.id, v.ends_at
FROM jsonb_to_recordset($1::jsonb) AS a (shop bigint, "all" boolean, most bigint)
CROSS JOIN LATERAL (
  SELECT v.id, coalesce(f.ends_at, 0) AS ends_at
  FROM vouchers AS v
  LEFT JOIN flash_sales AS f ON f.id = v.id
  WHERE v.shop_id = a.shop
    AND (a."all" OR v.status = 'ON_SALE' AND (f.id IS NULL OR f.ends_at > $2::bigint))
  ORDER BY v.id DESC
  LIMIT a.most
) AS v
ORDER BY a.shop, v.id DESC
