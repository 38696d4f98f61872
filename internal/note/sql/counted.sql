-- counted: what is counted of notes.
--
-- $1  their ids
--
-- returns  note, likes, comments, its rank among hot notes, version
SELECT id, likes, comments, hot, version FROM note_counts
WHERE id = ANY($1)
