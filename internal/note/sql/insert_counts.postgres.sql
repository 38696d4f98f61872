-- insert_counts: inserts the counters of new notes.
--
-- $1  a JSON array of {id, hot}
INSERT INTO note_counts (id, likes, comments, hot, version, deleted)
SELECT r.id, 0, 0, r.hot, 1, false
FROM json_to_recordset($1) AS r (id bigint, hot bigint)
