-- update_counts: stores the counters of notes.
--
-- $1  a JSON array of {id, likes, comments, saves, hot, version}; saves may be missing for 0
UPDATE note_counts AS c
SET likes = r.value ->> 'likes', comments = r.value ->> 'comments', saves = coalesce(r.value ->> 'saves', 0), hot = r.value ->> 'hot', version = r.value ->> 'version'
FROM json_each($1) AS r
WHERE c.id = r.value ->> 'id'
