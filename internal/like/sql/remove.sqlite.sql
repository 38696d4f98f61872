-- remove: delete likes.
--
-- $1  a JSON array of their ids
--
-- returns  like, of each that was deleted
DELETE FROM likes
WHERE id IN (SELECT value FROM json_each($1))
RETURNING id
