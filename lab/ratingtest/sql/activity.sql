-- activity: read the other activity of shops.
--
-- returns  shop, day since 1970, weight
SELECT shop_id, created_at / 86400000, 5
FROM notes
WHERE deleted_at IS NULL
UNION ALL
SELECT shop_id, to_date(day::text, 'YYYYMMDD') - DATE '1970-01-01', uniques
FROM visit_days
