-- shops: read the first and the last shop, and the number of shops.
SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*)
FROM shops
