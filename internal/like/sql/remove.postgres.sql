-- remove: delete likes.
--
-- $1  a JSON array of their ids
--
-- returns  like, of each that was deleted
DELETE FROM likes
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint))
RETURNING id
