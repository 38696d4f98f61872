-- remove: deletes follows.
--
-- $1  a JSON array of their ids
DELETE FROM follows
WHERE id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint))
