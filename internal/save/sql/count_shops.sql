-- count_shops: reads the stored and the actual saves of a page of shops. One statement, so that
-- rows and numbers are consistent.
--
-- $1  id before the page
-- $2  maximum number of shops
--
-- returns  id, stored number, actual number
SELECT p.id, p.save_count, (SELECT count(*) FROM saves AS s WHERE s.kind = 'SHOP' AND s.target_id = p.id)
FROM shops AS p
WHERE p.id > $1
ORDER BY p.id
LIMIT $2
