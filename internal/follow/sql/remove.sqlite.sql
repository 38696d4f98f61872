-- remove: deletes follows.
--
-- $1  a JSON array of their ids
DELETE FROM follows
WHERE id IN (SELECT value FROM json_each($1))
