-- update_counts: stores the counters of notes.
--
-- $1  a JSON array of {id, likes, comments, saves, hot, version}; saves may be missing for 0
--
-- The array of ids makes the planner use the index: it expects 100 rows from JSON.
UPDATE note_counts AS c
SET likes = r.likes, comments = r.comments, saves = coalesce(r.saves, 0), hot = r.hot, version = r.version
FROM json_to_recordset($1) AS r (id bigint, likes bigint, comments bigint, saves bigint, hot bigint, version bigint)
WHERE c.id = r.id AND c.id = ANY (ARRAY(SELECT (j.value ->> 'id')::bigint FROM json_array_elements($1) AS j (value)))
