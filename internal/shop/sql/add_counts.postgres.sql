-- add_counts: adds to counters of shops. Each shop occurs once.
--
-- $1  a JSON array of {id, sold, comments}
--
-- The array of ids makes the planner use the index: it expects 100 rows from JSON.
UPDATE shops AS s
SET sold = s.sold + r.sold, comment_count = s.comment_count + r.comments, version = s.version + 1
FROM json_to_recordset($1) AS r (id bigint, sold bigint, comments bigint)
WHERE s.id = r.id AND s.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
