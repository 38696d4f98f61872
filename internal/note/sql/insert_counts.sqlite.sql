-- insert_counts: inserts the counters of new notes.
--
-- $1  a JSON array of {id, hot}
INSERT INTO note_counts (id, likes, comments, hot, version, deleted)
SELECT r.value ->> 'id', 0, 0, r.value ->> 'hot', 1, false
FROM json_each($1) AS r
