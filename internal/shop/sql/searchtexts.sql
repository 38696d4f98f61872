-- searchtexts: what shops behind an id store for searches, and of what it is made.
--
-- $1  the id
-- $2  how many at most
--
-- returns  id, name, area, address, search text, in the order of ids
SELECT id, name, area, address, search FROM shops
WHERE id > $1
ORDER BY id
LIMIT $2
