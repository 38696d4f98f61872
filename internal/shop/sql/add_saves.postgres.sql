-- add_saves: adds to the number of saves of locked shops. Each shop occurs once.
--
-- $1  a JSON array of {id, more}
--
-- The array of ids makes the planner use the index: it expects 100 rows from JSON.
UPDATE shops AS s
SET save_count = s.save_count + r.more, version = s.version + 1
FROM json_to_recordset($1) AS r (id bigint, more bigint)
WHERE s.id = r.id AND s.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
