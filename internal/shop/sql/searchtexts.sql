-- searchtexts: reads the search texts of shops after an id, with their source columns.
--
-- $1  the id
-- $2  maximum number of shops
--
-- returns  id, name, area, address, search text, in id order
SELECT id, name, area, address, search FROM shops
WHERE id > $1
ORDER BY id
LIMIT $2
