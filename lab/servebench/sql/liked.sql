-- liked: read the likes of a range of notes.
--
-- $1, $2  first and last note
--
-- returns  note, user
SELECT target_id, user_id
FROM likes
WHERE kind = 'NOTE' AND target_id BETWEEN $1 AND $2
