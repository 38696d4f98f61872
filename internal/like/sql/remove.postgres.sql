-- remove: deletes likes.
--
-- $1  a JSON array of like ids
--
-- returns  like, of each deleted one
DELETE FROM likes
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint))
RETURNING id
