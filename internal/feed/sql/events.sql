-- events: what was published and deleted behind a number, in the order of the commits.
--
-- $1  the number
-- $2  how many at most
--
-- returns  number, ADDED or REMOVED, note, author, whether the author is a star
SELECT e.seq, e.kind, e.note_id, e.author_id, EXISTS (SELECT 1 FROM feed_stars AS s WHERE s.id = e.author_id)
FROM note_events AS e
WHERE e.seq > $1
ORDER BY e.seq
LIMIT $2
