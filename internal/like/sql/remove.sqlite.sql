-- remove: deletes likes.
--
-- $1  a JSON array of like ids
--
-- returns  like, of each deleted one
DELETE FROM likes
WHERE id IN (SELECT value FROM json_each($1))
RETURNING id
