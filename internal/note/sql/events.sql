-- events: inserts the events of published notes, by number.
--
-- $1  the number before the first
-- $2  the last number
INSERT INTO note_events (seq, kind, note_id, author_id)
SELECT seq, 'ADDED', id, author_id FROM notes WHERE seq > $1 AND seq <= $2
