-- The first and the last shop, and how many there are.
SELECT coalesce(min(id), 0), coalesce(max(id), 0), count(*)
FROM shops
