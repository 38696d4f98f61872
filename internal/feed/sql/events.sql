-- events: the notes published and deleted after a number, by number.
--
-- $1  the number
-- $2  limit
--
-- returns  number, ADDED or REMOVED, note, author, whether the author is a celebrity
SELECT e.seq, e.kind, e.note_id, e.author_id, EXISTS (SELECT 1 FROM feed_stars AS s WHERE s.id = e.author_id)
FROM note_events AS e
WHERE e.seq > $1
ORDER BY e.seq
LIMIT $2
