-- rewrite: replace the search texts of shops. A text that was changed since it was
-- read stays.
--
-- $1  texts, a JSON array of {id, stored, wanted}
--
-- returns  the ids of the rows that were rewritten
UPDATE shops SET search = a.wanted
FROM (SELECT value ->> 'id' AS id, value ->> 'stored' AS stored, value ->> 'wanted' AS wanted FROM json_each($1)) AS a
WHERE shops.id = a.id AND shops.search = a.stored
RETURNING shops.id
