-- rewrite: replaces search texts of shops. It skips texts that changed since they were read.
--
-- $1  texts, a JSON array of {id, stored, wanted}
--
-- returns  ids of the rewritten rows
UPDATE shops SET search = a.wanted
FROM (SELECT value ->> 'id' AS id, value ->> 'stored' AS stored, value ->> 'wanted' AS wanted FROM json_each($1)) AS a
WHERE shops.id = a.id AND shops.search = a.stored
RETURNING shops.id
