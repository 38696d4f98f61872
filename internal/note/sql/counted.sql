-- counted: reads the counters of notes.
--
-- $1  note ids
--
-- returns  note, likes, comments, saves, hot rank, version
SELECT id, likes, comments, saves, hot, version FROM note_counts
WHERE id = ANY($1)
